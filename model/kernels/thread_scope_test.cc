#include "model/kernels/thread_scope.h"

#include "gtest/gtest.h"

extern "C" int omp_get_max_threads(void);

namespace lockstep {
namespace {

TEST(ThreadScopeTest, SetsAndRestoresTheThreadCount) {
  const int before = omp_get_max_threads();
  {
    const ThreadScope scope(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace lockstep

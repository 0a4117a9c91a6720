#include "base/process.h"

#include <limits>
#include <thread>

#include "base/status_matchers.h"

namespace lockstep {
namespace {

// Not by the compiler.
float Half(volatile float value) { return value * 0.5f; }

TEST(ProcessTest, SubnormalNumbersAreZeroInAllThreads) {
  ASSERT_OK(InitProcess("process_test"));
  const float smallest = std::numeric_limits<float>::min();
  EXPECT_EQ(Half(smallest), 0.0f);
  float in_thread = 1;
  std::thread([&] { in_thread = Half(smallest); }).join();
  EXPECT_EQ(in_thread, 0.0f);
}

}  // namespace
}  // namespace lockstep

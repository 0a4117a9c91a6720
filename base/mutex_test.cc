#include "base/mutex.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(MutexTest, GuardsWhatItProtects) {
  Mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        MutexLock lock(&mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(MutexTest, AwaitReturnsOnceTheConditionHolds) {
  Mutex mutex;
  bool ready = false;
  std::thread other([&] {
    MutexLock lock(&mutex);
    ready = true;
  });
  {
    MutexLock lock(&mutex);
    mutex.Await(Condition(&ready));
    mutex.AssertHeld();
    EXPECT_TRUE(ready);
  }
  other.join();
}

TEST(MutexTest, AwaitWithDeadlineEndsInTime) {
  Mutex mutex;
  bool ready = false;
  MutexLock lock(&mutex);
  EXPECT_FALSE(mutex.AwaitWithDeadline(Condition(&ready), absl::InfinitePast()));
  ready = true;
  EXPECT_TRUE(mutex.AwaitWithDeadline(Condition(&ready), absl::InfinitePast()));
}

}  // namespace
}  // namespace lockstep

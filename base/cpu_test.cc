#include "base/cpu.h"

#include <sched.h>

#include <cstdlib>

#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// The choice is made once per process, so each case has a process of its own.
void ExpectBest(const char* forced, InstructionSet expected) {
  EXPECT_EXIT(
      {
        if (forced != nullptr) setenv("LOCKSTEP_INSTRUCTION_SET", forced, 1);
        std::_Exit(BestInstructionSet() == expected ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CpuTest, TestsRunOnAProcessorThatLockstepRunsOn) { EXPECT_OK(CheckProcessor()); }

TEST(CpuTest, TheSmallerInstructionSetCanBeForced) { ExpectBest("avx2", InstructionSet::kAvx2); }

TEST(CpuTest, TheBestInstructionSetIsChosenOtherwise) {
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  const InstructionSet best = avx512 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
  ExpectBest(nullptr, best);
  ExpectBest("", best);
}

TEST(CpuTest, TheAffinityMaskLimitsTheProcessors) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  EXPECT_GE(AllowedProcessors(), 1);
  EXPECT_LE(AllowedProcessors(), CPU_COUNT(&all));
  cpu_set_t one;
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(AllowedProcessors(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

}  // namespace
}  // namespace lockstep

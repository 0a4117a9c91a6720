#include "collective/ring_schedule.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int kMaxRanks = 16;

TEST(RingScheduleTest, OneRankHasNothingToDo) {
  EXPECT_EQ(RingSchedule(0, 1).num_steps(), 0);
  EXPECT_EQ(RingSchedule(0, 1).next(), 0);
  EXPECT_EQ(RingSchedule(0, 1).prev(), 0);
}

TEST(RingScheduleTest, WhatNextReceivesIsWhatIsSent) {
  for (int n = 2; n <= kMaxRanks; ++n) {
    for (int rank = 0; rank < n; ++rank) {
      const RingSchedule mine(rank, n);
      const RingSchedule next(mine.next(), n);
      EXPECT_EQ(next.prev(), rank);
      for (int k = 0; k < mine.num_steps(); ++k) {
        EXPECT_EQ(mine.step(k).send_chunk, next.step(k).receive_chunk) << n << " " << rank << " " << k;
      }
    }
  }
}

TEST(RingScheduleTest, EveryChunkIsSummedInRingOrderFromTheRankAfterIt) {
  for (int n = 2; n <= kMaxRanks; ++n) {
    // order[r][c]: the ranks whose values are in rank r's copy of chunk c, in the order of summation.
    std::vector<std::vector<std::vector<int>>> order(n, std::vector<std::vector<int>>(n));
    for (int r = 0; r < n; ++r) {
      for (int c = 0; c < n; ++c) order[r][c] = {r};
    }
    for (int k = 0; k < 2 * (n - 1); ++k) {
      const auto before = order;
      for (int r = 0; r < n; ++r) {
        const RingSchedule schedule(r, n);
        const RingSchedule::Step step = schedule.step(k);
        std::vector<int> value = before[schedule.prev()][step.receive_chunk];
        if (step.mode == ReceiveMode::kAdd) {
          value.insert(value.end(), before[r][step.receive_chunk].begin(),
                       before[r][step.receive_chunk].end());
        }
        order[r][step.receive_chunk] = value;
      }
    }
    for (int c = 0; c < n; ++c) {
      std::vector<int> expected;
      for (int i = 1; i <= n; ++i) expected.push_back((c + i) % n);
      for (int r = 0; r < n; ++r)
        EXPECT_EQ(order[r][c], expected) << "n=" << n << " rank=" << r << " chunk=" << c;
    }
  }
}

TEST(RingScheduleTest, AfterTheFirstHalfRankOwnsItsChunk) {
  for (int n = 2; n <= kMaxRanks; ++n) {
    for (int rank = 0; rank < n; ++rank) {
      EXPECT_EQ(RingSchedule(rank, n).step(n - 2).receive_chunk, rank);
      EXPECT_EQ(RingSchedule(rank, n).step(n - 1).send_chunk, rank);
    }
  }
}

TEST(RingScheduleTest, EveryChunkIsSentOncePerHalfButOne) {
  for (int n = 2; n <= kMaxRanks; ++n) {
    const RingSchedule schedule(n / 2, n);
    for (int half = 0; half < 2; ++half) {
      std::set<int> sent;
      for (int k = 0; k < n - 1; ++k) sent.insert(schedule.step(half * (n - 1) + k).send_chunk);
      EXPECT_EQ(sent.size(), n - 1u);
    }
  }
}

TEST(RingScheduleTest, AReplacedChunkWasSentInTheStepThatIsNamed) {
  for (int n = 2; n <= kMaxRanks; ++n) {
    for (int rank = 0; rank < n; ++rank) {
      const RingSchedule schedule(rank, n);
      for (int k = n - 1; k < schedule.num_steps(); ++k) {
        EXPECT_EQ(schedule.step(schedule.StepOfReplacedSend(k)).send_chunk, schedule.step(k).receive_chunk);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep

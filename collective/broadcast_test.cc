#include "collective/broadcast.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Route = BroadcastRoute (*)(int rank, int world_size, int root);

// Rounds until every rank has the bytes, if each that has them passes them to one child per round; checks
// that every rank gets them once, from the rank that it waits for.
int RoundsOf(Route route, int world_size, int root) {
  constexpr int kNotYet = -1;
  std::vector<int> round_of(world_size, kNotYet);
  std::vector<int> reached = {root};
  round_of[root] = 0;
  for (size_t next = 0; next < reached.size(); ++next) {
    const int rank = reached[next];
    int round = round_of[rank];
    for (const int child : route(rank, world_size, root).children) {
      EXPECT_EQ(route(child, world_size, root).parent, rank);
      EXPECT_EQ(round_of[child], kNotYet) << "rank " << child << " twice";
      round_of[child] = ++round;
      reached.push_back(child);
    }
  }
  EXPECT_EQ(reached.size(), world_size);
  EXPECT_EQ(route(root, world_size, root).parent, -1);
  return *std::max_element(round_of.begin(), round_of.end());
}

TEST(BroadcastTest, TheRingReachesEveryRankInOrder) {
  for (int n = 1; n <= 64; ++n) {
    for (int root = 0; root < n; ++root) EXPECT_EQ(RoundsOf(&RingRoute, n, root), n - 1);
  }
}

TEST(BroadcastTest, TheTreeReachesTwiceAsManyInEachRound) {
  for (int n = 1; n <= 64; ++n) {
    int rounds = 0;
    while ((1 << rounds) < n) ++rounds;
    for (int root = 0; root < n; ++root) EXPECT_EQ(RoundsOf(&TreeRoute, n, root), rounds) << n;
  }
}

TEST(BroadcastTest, TheTreeIsForFewSegmentsAmongManyRanks) {
  EXPECT_FALSE(TreeIsFaster(2, 1));
  EXPECT_FALSE(TreeIsFaster(3, 1));
  EXPECT_TRUE(TreeIsFaster(4, 1));
  EXPECT_FALSE(TreeIsFaster(4, 2));
  EXPECT_TRUE(TreeIsFaster(64, 12));   // 72 against 74
  EXPECT_FALSE(TreeIsFaster(64, 13));  // 78 against 75
  EXPECT_FALSE(TreeIsFaster(64, 1000));
}

}  // namespace
}  // namespace lockstep

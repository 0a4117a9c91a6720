#include "data/apportion.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// Seat by seat from nothing, as the definition reads.
std::vector<int64_t> ApportionSlowly(int64_t seats, const std::vector<int64_t>& weights) {
  std::vector<int64_t> shares(weights.size());
  for (; seats > 0; --seats) {
    size_t best = 0;
    for (size_t i = 1; i < weights.size(); ++i) {
      if (weights[i] * (2 * shares[best] + 1) > weights[best] * (2 * shares[i] + 1)) best = i;
    }
    ++shares[best];
  }
  return shares;
}

TEST(ApportionTest, AgreesWithTheDefinitionAndNeverShrinks) {
  const std::vector<std::vector<int64_t>> cases = {{7},
                                                   {100, 110},
                                                   {1, 1, 1},
                                                   {1, 50, 3},
                                                   {90, 1, 1, 1, 1},
                                                   {2, 3, 5, 7, 11, 13, 17},
                                                   {1, 1, 1, 1, 1, 1, 60}};
  for (const std::vector<int64_t>& weights : cases) {
    const int64_t total = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    std::vector<int64_t> before(weights.size(), 0);
    for (int64_t seats = 0; seats <= total; ++seats) {
      const std::vector<int64_t> shares = Apportion(seats, weights);
      ASSERT_EQ(shares, ApportionSlowly(seats, weights)) << "seats=" << seats;
      for (size_t i = 0; i < shares.size(); ++i) ASSERT_GE(shares[i], before[i]) << "seats=" << seats;
      before = shares;
    }
    EXPECT_EQ(before, weights);
  }
}

TEST(ApportionTest, HugeWeightsDoNotOverflow) {
  const int64_t big = int64_t{1} << 60;
  EXPECT_THAT(Apportion(big, {big, big, 2 * big}), ElementsAre(big / 4, big / 4, big / 2));
}

}  // namespace
}  // namespace lockstep

#include "data/permutation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

std::vector<int64_t> Order(int64_t n, uint64_t seed, uint64_t epoch) {
  const Permutation permutation(n, seed, epoch);
  std::vector<int64_t> order(n);
  for (int64_t i = 0; i < n; ++i) order[i] = permutation(i);
  return order;
}

TEST(PermutationTest, EveryElementAppearsOnceForSmallSizes) {
  for (int64_t n = 1; n <= 200; ++n) {
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> order = Order(n, 7, epoch);
      std::sort(order.begin(), order.end());
      std::vector<int64_t> expected(n);
      std::iota(expected.begin(), expected.end(), 0);
      ASSERT_EQ(order, expected) << "n=" << n << " epoch=" << epoch;
    }
  }
}

TEST(PermutationTest, ElementsOfHugeSizesAreInRangeAndDistinct) {
  for (const int64_t n : {(int64_t{1} << 40) + 1, int64_t{6'000'000'019}, INT64_MAX}) {
    const Permutation permutation(n, 1, 2);
    std::unordered_set<int64_t> seen;
    for (int64_t i = 0; i < 10'000; ++i) {
      const int64_t element = permutation(n - 1 - i * 7919);
      ASSERT_GE(element, 0);
      ASSERT_LT(element, n);
      ASSERT_TRUE(seen.insert(element).second) << "n=" << n << " i=" << i;
    }
  }
}

TEST(PermutationTest, SeedAndEpochEachGiveAnotherOrder) {
  EXPECT_EQ(Order(100, 1, 1), Order(100, 1, 1));
  EXPECT_NE(Order(100, 1, 1), Order(100, 1, 2));
  EXPECT_NE(Order(100, 1, 1), Order(100, 2, 1));
  EXPECT_NE(Order(100, 1, 2), Order(100, 2, 1));
}

// The order of n rows takes each of the n! values equally often over many epochs: chi-square with n! - 1
// degrees of freedom k; mean k, standard deviation sqrt(2k). The bound is 5 standard deviations.
TEST(PermutationTest, AllOrdersOfAFewRowsAreEquallyFrequent) {
  for (const int64_t n : {2, 3, 4, 5}) {
    const int epochs = 100 * static_cast<int>(std::tgamma(n + 1));
    std::map<std::vector<int64_t>, int> counts;
    for (int epoch = 0; epoch < epochs; ++epoch) ++counts[Order(n, 3, epoch)];
    double orders = 1;
    for (int64_t i = 2; i <= n; ++i) orders *= static_cast<double>(i);
    const double expected = epochs / orders;
    double chi_square = expected * (orders - static_cast<double>(counts.size()));
    for (const auto& [order, count] : counts)
      chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, orders - 1 + 5 * std::sqrt(2 * (orders - 1))) << "n=" << n;
  }
}

}  // namespace
}  // namespace lockstep

#include "collective/cost_model.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

TEST(CostModelTest, NothingMeasuredIsTheRing) {
  const CostModel costs(4);
  EXPECT_EQ(costs.Choose(1), Algorithm::kRing);
  EXPECT_EQ(costs.Choose(kMiB), Algorithm::kRing);
  EXPECT_EQ(costs.ToString(), "ring");
}

TEST(CostModelTest, TimeGrowsInProportionBetweenSizesAndBeyond) {
  CostModel costs(4);
  costs.Add(Algorithm::kRing, 1000, 10);
  costs.Add(Algorithm::kRing, 2000, 12);
  costs.Add(Algorithm::kRing, 4000, 20);
  EXPECT_DOUBLE_EQ(costs.Estimate(Algorithm::kRing, 8), 10);
  EXPECT_DOUBLE_EQ(costs.Estimate(Algorithm::kRing, 1500), 11);
  EXPECT_DOUBLE_EQ(costs.Estimate(Algorithm::kRing, 3000), 16);
  EXPECT_DOUBLE_EQ(costs.Estimate(Algorithm::kRing, 8000), 36);
  EXPECT_DOUBLE_EQ(costs.Estimate(Algorithm::kMesh, 1500), kNever);
}

TEST(CostModelTest, AMeasurementThatShrinksIsNoise) {
  CostModel costs(2);
  costs.Add(Algorithm::kRing, 1000, 10);
  costs.Add(Algorithm::kRing, 2000, 9);
  EXPECT_DOUBLE_EQ(costs.Estimate(Algorithm::kRing, 100'000'000), 10);
}

CostModel ThreeAlgorithms(int world_size) {
  CostModel costs(world_size);
  costs.Add(Algorithm::kOneHop, kKiB, 20e-6);
  costs.Add(Algorithm::kOneHop, kMiB, 1000e-6);
  costs.Add(Algorithm::kMesh, kKiB, 50e-6);
  costs.Add(Algorithm::kMesh, kMiB, 500e-6);
  costs.Add(Algorithm::kRing, kKiB, 200e-6);
  costs.Add(Algorithm::kRing, kMiB, 550e-6);
  return costs;
}

TEST(CostModelTest, TheFastestIsChosenForEachSize) {
  const CostModel costs = ThreeAlgorithms(4);
  EXPECT_EQ(costs.Choose(0), Algorithm::kOneHop);
  EXPECT_EQ(costs.Choose(32 * kKiB), Algorithm::kOneHop);
  EXPECT_EQ(costs.Choose(256 * kKiB), Algorithm::kMesh);
  EXPECT_EQ(costs.Choose(64 * kMiB), Algorithm::kRing);
  EXPECT_THAT(costs.ToString(), ::testing::MatchesRegex("one hop, mesh from .* KiB, ring from .* MiB"));
}

TEST(CostModelTest, TheRingIsTakenIfAnotherIsHardlyFaster) {
  CostModel costs(2);
  costs.Add(Algorithm::kRing, kKiB, 100e-6);
  costs.Add(Algorithm::kMesh, kKiB, 97e-6);
  EXPECT_EQ(costs.Choose(kKiB), Algorithm::kRing);
}

// 63 times 256 KiB would be kept at once.
TEST(CostModelTest, OneHopIsNotUsedWhereItNeedsMuchMemory) {
  const CostModel costs = ThreeAlgorithms(64);
  EXPECT_TRUE(costs.MayUse(Algorithm::kOneHop, 64 * kKiB));
  EXPECT_FALSE(costs.MayUse(Algorithm::kOneHop, 256 * kKiB));
  EXPECT_DOUBLE_EQ(costs.Estimate(Algorithm::kOneHop, 256 * kKiB), kNever);
  EXPECT_TRUE(CostModel(2).MayUse(Algorithm::kOneHop, kMiB));
}

TEST(CostModelTest, AMeshOfManyRanksIsNotForeseenBeyondWhatWasMeasured) {
  EXPECT_LT(ThreeAlgorithms(8).Estimate(Algorithm::kMesh, 2 * kMiB), kNever);
  EXPECT_LT(ThreeAlgorithms(9).Estimate(Algorithm::kMesh, kMiB), kNever);
  EXPECT_DOUBLE_EQ(ThreeAlgorithms(9).Estimate(Algorithm::kMesh, 2 * kMiB), kNever);
}

}  // namespace
}  // namespace lockstep

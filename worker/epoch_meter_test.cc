#include "worker/epoch_meter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Pair;

StepTotals Step(double rows, double loss_sum, double correct) {
  StepTotals totals(1);
  totals.weight() = rows;
  totals.loss_sum() = loss_sum;
  totals.numerator(0) = correct;
  totals.denominator(0) = rows;
  return totals;
}

TEST(EpochMeterTest, A19AnEpochsValuesAreQuotientsOfSumsNotMeansOfMeans) {
  EpochMeter meter(1);
  meter.Begin(absl::UnixEpoch(), 0, 2, StepTotals(1));
  meter.AddStep(Step(2, 20, 1));
  meter.AddStep(Step(1, 9, 1));
  EXPECT_THAT(MetricValues(meter.totals(), {"accuracy"}, 0),
              ElementsAre(Pair("loss", DoubleEq(29.0 / 3)), Pair("accuracy", DoubleEq(2.0 / 3))));
}

TEST(EpochMeterTest, RegularizationIsAddedToTheLossOnce) {
  EXPECT_THAT(MetricValues(Step(2, 20, 1), {"accuracy"}, 0.5),
              ElementsAre(Pair("loss", DoubleEq(10.5)), Pair("accuracy", DoubleEq(0.5))));
}

TEST(EpochMeterTest, AnEmptyEpochHasZerosAndNoDivisionByZero) {
  EXPECT_THAT(MetricValues(StepTotals(1), {"accuracy"}, 0),
              ElementsAre(Pair("loss", 0), Pair("accuracy", 0)));
}

TEST(EpochMeterTest, RateAndEtaFollowFromTheStepsOfThisLife) {
  EpochMeter meter(1);
  // Two of ten steps were done before an interruption, with 64 rows.
  meter.Begin(absl::UnixEpoch(), 2, 10, Step(64, 64, 0));
  meter.AddStep(Step(32, 32, 0));
  meter.AddStep(Step(32, 32, 0));
  const absl::Time now = absl::UnixEpoch() + absl::Seconds(4);
  EXPECT_DOUBLE_EQ(meter.RowsPerSecond(now), 16);
  EXPECT_DOUBLE_EQ(meter.EtaSeconds(now), 12);
  EXPECT_DOUBLE_EQ(meter.totals().weight(), 128);
}

TEST(StepTotalsTest, HeadAndTailAreNeighboursAndCoverEverything) {
  StepTotals totals(2);
  EXPECT_EQ(totals.head().data() + totals.head().size(), totals.tail().data());
  EXPECT_EQ(totals.head().size() + totals.tail().size(), totals.all().size());
  EXPECT_EQ(&totals.compute_seconds(), &totals.tail().back());
}

}  // namespace
}  // namespace lockstep

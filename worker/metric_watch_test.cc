#include "worker/metric_watch.h"

#include <limits>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Direction = MetricWatch::Direction;

TEST(MetricWatchTest, DirectionsFollowFromNames) {
  for (const char* name : {"accuracy", "val_accuracy", "acc", "val_sparse_top_k_categorical_accuracy", "auc",
                           "val_precision", "recall"}) {
    EXPECT_EQ(MetricWatch::DirectionOf(name), Direction::kMax) << name;
  }
  for (const char* name : {"loss", "val_loss", "mean_squared_error", "val_mean_absolute_error"}) {
    EXPECT_EQ(MetricWatch::DirectionOf(name), Direction::kMin) << name;
  }
}

TEST(MetricWatchTest, SmallerIsBetterForMin) {
  MetricWatch watch("loss", Direction::kMin, 0);
  EXPECT_FALSE(watch.has_best());
  EXPECT_TRUE(watch.Observe(1, 3));
  EXPECT_FALSE(watch.Observe(2, 3));
  EXPECT_FALSE(watch.Observe(3, 4));
  EXPECT_EQ(watch.epochs_without_improvement(), 2);
  EXPECT_EQ(watch.best_epoch(), 1);
  EXPECT_TRUE(watch.Observe(4, 2));
  EXPECT_EQ(watch.best(), 2);
  EXPECT_EQ(watch.best_epoch(), 4);
  EXPECT_EQ(watch.epochs_without_improvement(), 0);
}

TEST(MetricWatchTest, GreaterIsBetterForMax) {
  MetricWatch watch("accuracy", Direction::kMax, 0);
  EXPECT_TRUE(watch.Observe(1, 0));
  EXPECT_FALSE(watch.Observe(2, -1));
  EXPECT_TRUE(watch.Observe(3, 1));
}

TEST(MetricWatchTest, AnImprovementMustExceedMinDelta) {
  MetricWatch smaller("loss", Direction::kMin, 0.25);
  EXPECT_TRUE(smaller.Observe(1, 1));
  EXPECT_FALSE(smaller.Observe(2, 0.75));
  EXPECT_EQ(smaller.best(), 1);
  EXPECT_TRUE(smaller.Observe(3, 0.5));
  MetricWatch greater("accuracy", Direction::kMax, 0.25);
  EXPECT_TRUE(greater.Observe(1, 0.5));
  EXPECT_FALSE(greater.Observe(2, 0.75));
  EXPECT_TRUE(greater.Observe(3, 1));
}

TEST(MetricWatchTest, NotANumberNeverImproves) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  MetricWatch watch("loss", Direction::kMin, 0);
  EXPECT_FALSE(watch.Observe(1, nan));
  EXPECT_FALSE(watch.has_best());
  EXPECT_TRUE(watch.Observe(2, 5));
  EXPECT_FALSE(watch.Observe(3, nan));
  EXPECT_EQ(watch.best(), 5);
}

TEST(MetricWatchTest, ForgettingTheWaitKeepsTheBest) {
  MetricWatch watch("loss", Direction::kMin, 0);
  EXPECT_TRUE(watch.Observe(1, 1));
  EXPECT_FALSE(watch.Observe(2, 2));
  watch.ForgetWait();
  EXPECT_EQ(watch.epochs_without_improvement(), 0);
  EXPECT_FALSE(watch.Observe(3, 1.5));
}

TEST(MetricWatchTest, RestoringNoBestMeansThatAnythingImproves) {
  MetricWatch watch("accuracy", Direction::kMax, 0);
  watch.Restore(/*best=*/0, /*best_epoch=*/0, /*epochs_without_improvement=*/2);
  EXPECT_EQ(watch.epochs_without_improvement(), 2);
  EXPECT_TRUE(watch.Observe(3, -7));
}

}  // namespace
}  // namespace lockstep

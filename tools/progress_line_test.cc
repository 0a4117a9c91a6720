#include "tools/progress_line.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trainer.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using ::testing::StartsWith;

template <typename Event>
void AddMetric(Event* event, const char* name, double value) {
  v1::NamedValue* metric = event->add_metrics();
  metric->set_name(name);
  metric->set_value(value);
}

v1::Progress MakeProgress() {
  v1::Progress progress;
  progress.set_epoch(2);
  progress.set_step(312);
  progress.set_steps_per_epoch(469);
  progress.set_rows_per_second(58213.4);
  progress.set_eta_seconds(1.2);
  AddMetric(&progress, "loss", 0.43119);
  AddMetric(&progress, "accuracy", 0.84671);
  return progress;
}

v1::EpochEnd MakeEpochEnd() {
  v1::EpochEnd end;
  end.set_epoch(2);
  end.set_epochs(5);
  end.set_seconds(8);
  end.set_steps(469);
  end.set_rows_per_second(7500);
  AddMetric(&end, "loss", 0.5);
  AddMetric(&end, "val_loss", 0.25);
  return end;
}

TEST(ProgressLineTest, ShowsWhatKerasShows) {
  EXPECT_EQ(
      ProgressLine(MakeProgress(), 120),
      "312/469 [==================>...........] - ETA 1s - loss: 0.4312 - accuracy: 0.8467 - 58213 rows/s");
}

TEST(ProgressLineTest, CounterKeepsItsWidth) {
  v1::Progress progress = MakeProgress();
  progress.set_step(31);
  EXPECT_THAT(ProgressLine(progress, 120), StartsWith(" 31/469 [>."));
}

TEST(ProgressLineTest, NeverReachesTheLastColumn) {
  for (int width = 1; width <= 130; ++width)
    EXPECT_LT(ProgressLine(MakeProgress(), width).size(), static_cast<size_t>(width)) << width;
}

TEST(ProgressLineTest, ShortensTheBarFirstThenDropsIt) {
  EXPECT_EQ(ProgressLine(MakeProgress(), 86),
            "312/469 [==========>......] - ETA 1s - loss: 0.4312 - accuracy: 0.8467 - 58213 rows/s");
  EXPECT_EQ(ProgressLine(MakeProgress(), 75),
            "312/469 - ETA 1s - loss: 0.4312 - accuracy: 0.8467 - 58213 rows/s");
}

TEST(ProgressLineTest, BarIsFullAtTheEndAndEmptyAtTheBeginning) {
  v1::Progress progress = MakeProgress();
  progress.set_step(469);
  EXPECT_THAT(ProgressLine(progress, 120), HasSubstr("[==============================]"));
  progress.set_step(0);
  EXPECT_THAT(ProgressLine(progress, 120), HasSubstr("[..............................]"));
}

TEST(ProgressLineTest, SurvivesNonsenseFromTheWire) {
  v1::Progress progress;
  progress.set_step(std::numeric_limits<int64_t>::max());
  progress.set_eta_seconds(std::numeric_limits<double>::quiet_NaN());
  AddMetric(&progress, "loss", std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(ProgressLine(progress, 120), HasSubstr("loss: nan"));
  progress.set_step(-5);
  progress.set_steps_per_epoch(10);
  progress.set_eta_seconds(-std::numeric_limits<double>::infinity());
  EXPECT_THAT(ProgressLine(progress, 120), HasSubstr("ETA 0s"));
}

TEST(ProgressLineTest, LongTimesAreWrittenAsClocks) {
  v1::Progress progress = MakeProgress();
  progress.set_eta_seconds(83);
  EXPECT_THAT(ProgressLine(progress, 120), HasSubstr("ETA 1:23 "));
  progress.set_eta_seconds(3723);
  EXPECT_THAT(ProgressLine(progress, 120), HasSubstr("ETA 1:02:03 "));
}

TEST(EpochEndLineTest, HasTimeAndAllMetricsHoweverNarrow) {
  EXPECT_EQ(
      EpochEndLine(MakeEpochEnd(), 110),
      "469/469 [==============================] - 8.0s 17ms/step - loss: 0.5000 - val_loss: 0.2500 - 7500 "
      "rows/s");
  EXPECT_EQ(EpochEndLine(MakeEpochEnd(), 20),
            "469/469 - 8.0s 17ms/step - loss: 0.5000 - val_loss: 0.2500 - 7500 rows/s");
}

TEST(EpochLogLineTest, IsOneLineWithTheEpoch) {
  EXPECT_EQ(EpochLogLine(MakeEpochEnd()),
            "Epoch 2/5 - 8.0s 17ms/step - loss: 0.5000 - val_loss: 0.2500 - 7500 rows/s");
}

TEST(MetricTextTest, SmallValuesGetAnExponent) {
  EXPECT_EQ(MetricText(0.8467), "0.8467");
  EXPECT_EQ(MetricText(0), "0.0000");
  EXPECT_EQ(MetricText(0.000123), "1.2300e-04");
  EXPECT_EQ(MetricText(-0.000123), "-1.2300e-04");
}

TEST(FitBeginLineTest, SaysHowTheBatchIsShared) {
  v1::FitBegin begin;
  begin.set_world_size(3);
  begin.set_global_batch(32);
  for (const int64_t share : {11, 11, 10}) begin.add_shares(share);
  begin.set_epochs(3);
  begin.set_steps_per_epoch(32);
  begin.set_train_rows(1000);
  EXPECT_THAT(FitBeginLine(begin), HasSubstr("global batch 32 = 11+11+10 over 3 ranks"));
  EXPECT_THAT(FitBeginLine(begin), Not(HasSubstr("validate")));
  begin.set_first_epoch(2);
  EXPECT_THAT(FitBeginLine(begin), HasSubstr("goes on after epoch 2"));
}

TEST(SharesTextTest, ManySharesAreCounted) {
  std::vector<int64_t> shares(20, 7);
  std::fill(shares.begin() + 16, shares.end(), 6);
  EXPECT_EQ(SharesText(shares), "16 x 7 + 4 x 6");
}

}  // namespace
}  // namespace lockstep

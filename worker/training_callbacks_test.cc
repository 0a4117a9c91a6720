#include "worker/training_callbacks.h"

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

absl::StatusOr<std::unique_ptr<TrainingCallbacks>> Create(const std::string& fit,
                                                          const std::string& checkpoint = "") {
  return TrainingCallbacks::Create(Parse<v1::Fit>(fit), Parse<v1::Checkpoint>(checkpoint),
                                   {"loss", "accuracy", "val_loss", "val_accuracy"});
}

// The decisions for these values of val_loss, one per epoch, with a base learning rate of 1; up to a stop.
std::vector<EpochDecision> RunEpochs(TrainingCallbacks* callbacks, const std::vector<double>& values) {
  std::vector<EpochDecision> decisions;
  double scale = 1;
  for (const double value : values) {
    const auto epoch = static_cast<int64_t>(decisions.size()) + 1;
    decisions.push_back(callbacks->OnEpochEnd(epoch, {{"val_loss", value}, {"val_accuracy", -value}}, scale));
    scale = decisions.back().learning_rate_scale;
    if (decisions.back().stop) break;
  }
  return decisions;
}

int StoppedAfter(const std::string& fit, const std::vector<double>& values) {
  const std::unique_ptr<TrainingCallbacks> callbacks = Create(fit).value();
  const std::vector<EpochDecision> decisions = RunEpochs(callbacks.get(), values);
  return decisions.back().stop ? static_cast<int>(decisions.size()) : 0;
}

std::vector<double> Scales(const std::string& fit, const std::vector<double>& values) {
  const std::unique_ptr<TrainingCallbacks> callbacks = Create(fit).value();
  std::vector<double> scales;
  for (const EpochDecision& decision : RunEpochs(callbacks.get(), values))
    scales.push_back(decision.learning_rate_scale);
  return scales;
}

TEST(TrainingCallbacksTest, NothingConfiguredDecidesNothing) {
  const std::unique_ptr<TrainingCallbacks> callbacks = Create("").value();
  const EpochDecision decision = callbacks->OnEpochEnd(1, {{"loss", 1}}, 0.1);
  EXPECT_FALSE(decision.stop);
  EXPECT_FALSE(decision.is_best);
  EXPECT_FALSE(decision.early_stopping_improved);
  EXPECT_EQ(decision.learning_rate_scale, 1);
  EXPECT_THAT(decision.reason, IsEmpty());
}

TEST(TrainingCallbacksTest, EarlyStoppingEndsAfterPatienceEpochsWithoutImprovement) {
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 3 }", {5, 4, 4, 4, 4, 1}), 5);
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 3 }", {5, 6, 6, 4, 6, 6, 3, 4}), 0);
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 1 }", {5, 4, 4}), 3);
}

TEST(TrainingCallbacksTest, PatienceZeroEndsAtTheFirstEpochThatDoesNotImprove) {
  EXPECT_EQ(StoppedAfter("early_stopping {}", {5, 4, 3, 3, 2}), 4);
}

TEST(TrainingCallbacksTest, EarlyStoppingNeverEndsAfterTheFirstEpoch) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(StoppedAfter("early_stopping {}", {nan, 4}), 0);
  EXPECT_EQ(StoppedAfter("early_stopping {}", {nan, nan}), 2);
}

TEST(TrainingCallbacksTest, EarlyStoppingCountsSmallImprovementsAsNone) {
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 2 min_delta: 1 }", {5, 4.5, 4}), 3);
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 2 min_delta: 1 }", {5, 4.5, 3.5, 3, 3}), 5);
}

TEST(TrainingCallbacksTest, AccuraciesAreMaximisedUnlessToldOtherwise) {
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 1 monitor: 'val_accuracy' }", {3, 2, 1}), 0);
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 1 monitor: 'val_accuracy' mode: MIN }", {3, 2, 1}), 2);
  EXPECT_EQ(StoppedAfter("early_stopping { patience: 1 mode: MAX }", {3, 2, 1}), 2);
}

TEST(TrainingCallbacksTest, EarlyStoppingTellsWhichWeightsToKeepAndWhyItStopped) {
  const std::unique_ptr<TrainingCallbacks> callbacks =
      Create("early_stopping { patience: 2 restore_best_weights: true }").value();
  const std::vector<EpochDecision> decisions = RunEpochs(callbacks.get(), {5, 4, 6, 6});
  std::vector<bool> improved;
  for (const EpochDecision& decision : decisions) improved.push_back(decision.early_stopping_improved);
  EXPECT_THAT(improved, ElementsAre(true, true, false, false));
  EXPECT_EQ(decisions.back().reason,
            "early stopping: val_loss has not improved for 2 epochs (best 4 in epoch 2)");
  EXPECT_TRUE(callbacks->state().stopped());
}

TEST(TrainingCallbacksTest, APlateauReducesTheLearningRate) {
  EXPECT_THAT(Scales("reduce_lr_on_plateau { factor: 0.5 patience: 2 }", {5, 5, 5, 5, 5, 4, 4, 4}),
              ElementsAre(1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125));
}

TEST(TrainingCallbacksTest, APlateauHasKerasDefaults) {
  std::vector<double> values(11, 1.0);
  EXPECT_EQ(Scales("reduce_lr_on_plateau {}", values).back(), 0.1);
  values[10] = 1 - 2e-4;
  EXPECT_EQ(Scales("reduce_lr_on_plateau {}", values).back(), 1);
  values[10] = 1 - 0.5e-4;
  EXPECT_EQ(Scales("reduce_lr_on_plateau {}", values).back(), 0.1);
}

TEST(TrainingCallbacksTest, EpochsOfTheCooldownAreNotWaitedFor) {
  // Reduced after epoch 2; epochs 3 and 4 cool down, but 4 is its end and counts, as in Keras.
  EXPECT_THAT(Scales("reduce_lr_on_plateau { factor: 0.5 patience: 1 cooldown: 2 }", {5, 5, 5, 5, 5, 5}),
              ElementsAre(1, 0.5, 0.5, 0.25, 0.25, 0.125));
  EXPECT_THAT(Scales("reduce_lr_on_plateau { factor: 0.5 patience: 2 cooldown: 2 }", {5, 5, 5, 5, 5, 5}),
              ElementsAre(1, 1, 0.5, 0.5, 0.5, 0.25));
}

TEST(TrainingCallbacksTest, AnImprovementDuringTheCooldownIsTheNewBest) {
  EXPECT_THAT(Scales("reduce_lr_on_plateau { factor: 0.5 patience: 1 cooldown: 3 }", {5, 5, 1, 4, 4, 4}),
              ElementsAre(1, 0.5, 0.5, 0.5, 0.25, 0.25));
}

TEST(TrainingCallbacksTest, TheLearningRateStopsAtItsFloor) {
  EXPECT_THAT(Scales("reduce_lr_on_plateau { factor: 0.5 patience: 1 min_lr: 0.375 }", {5, 5, 5, 5}),
              ElementsAre(1, 0.5, 0.375, 0.375));
}

TEST(TrainingCallbacksTest, AReductionIsTold) {
  const std::unique_ptr<TrainingCallbacks> callbacks =
      Create("reduce_lr_on_plateau { factor: 0.5 patience: 1 }").value();
  EXPECT_EQ(RunEpochs(callbacks.get(), {5, 5}).back().reason,
            "plateau: val_loss has not improved for 1 epoch; learning rate 1 -> 0.5");
}

TEST(TrainingCallbacksTest, TheBestEpochIsNamedWheneverThereIsANewOne) {
  const std::unique_ptr<TrainingCallbacks> callbacks = Create("", "keep_best {}").value();
  std::vector<bool> best;
  for (const EpochDecision& decision : RunEpochs(callbacks.get(), {5, 6, 4, 4, 3}))
    best.push_back(decision.is_best);
  EXPECT_THAT(best, ElementsAre(true, false, true, false, true));
}

TEST(TrainingCallbacksTest, AMonitorThatDoesNotExistIsRefusedAndTheMetricsListed) {
  const auto refused = [](const std::string& field) {
    return StatusIs(
        absl::StatusCode::kInvalidArgument,
        HasSubstr(field + ".monitor \"vall\" is not one of loss, accuracy, val_loss, val_accuracy"));
  };
  EXPECT_THAT(Create("early_stopping { monitor: 'vall' }"), refused("fit.early_stopping"));
  EXPECT_THAT(Create("reduce_lr_on_plateau { monitor: 'vall' }"), refused("fit.reduce_lr_on_plateau"));
  EXPECT_THAT(Create("", "keep_best { monitor: 'vall' }"), refused("checkpoint.keep_best"));
  EXPECT_THAT(TrainingCallbacks::Create(Parse<v1::Fit>("early_stopping {}"), v1::Checkpoint(), {"loss"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"val_loss\" is not one of loss (those with val_ need data.validation)")));
}

TEST(TrainingCallbacksTest, NumbersOutOfRangeAreRefused) {
  for (const char* fit : {"early_stopping { patience: -1 }", "early_stopping { min_delta: -0.1 }",
                          "early_stopping { min_delta: nan }", "reduce_lr_on_plateau { factor: 1 }",
                          "reduce_lr_on_plateau { factor: 0 }", "reduce_lr_on_plateau { factor: nan }",
                          "reduce_lr_on_plateau { patience: -1 }", "reduce_lr_on_plateau { cooldown: -1 }",
                          "reduce_lr_on_plateau { min_lr: -1 }", "reduce_lr_on_plateau { min_lr: inf }"}) {
    EXPECT_THAT(Create(fit), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fit."))) << fit;
  }
}

bool operator==(const EpochDecision& a, const EpochDecision& b) {
  return a.stop == b.stop && a.is_best == b.is_best &&
         a.early_stopping_improved == b.early_stopping_improved &&
         a.learning_rate_scale == b.learning_rate_scale && a.reason == b.reason;
}

TEST(TrainingCallbacksTest, A35AJobThatIsResumedAfterEveryEpochDecidesAsTheUndisturbedOne) {
  const std::string fit =
      "early_stopping { patience: 6 min_delta: 0.5 } "
      "reduce_lr_on_plateau { monitor: 'val_accuracy' patience: 1 cooldown: 3 factor: 0.3 min_lr: 0.01 }";
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const std::unique_ptr<TrainingCallbacks> undisturbed = Create(fit, "keep_best {}").value();
    std::string saved;
    double scale = 1;
    for (int64_t epoch = 1; epoch <= 25; ++epoch) {
      const double value = static_cast<double>(random() % 8);
      const std::map<std::string, double> metrics = {{"val_loss", value}, {"val_accuracy", -value}};
      const std::unique_ptr<TrainingCallbacks> resumed = Create(fit, "keep_best {}").value();
      v1::CallbackState state;
      ASSERT_TRUE(state.ParseFromString(saved));
      resumed->Restore(state);
      const EpochDecision expected = undisturbed->OnEpochEnd(epoch, metrics, scale);
      EXPECT_TRUE(resumed->OnEpochEnd(epoch, metrics, scale) == expected)
          << "trial " << trial << " epoch " << epoch;
      saved = resumed->state().SerializeAsString();
      scale = expected.learning_rate_scale;
      if (expected.stop) break;
    }
  }
}

}  // namespace
}  // namespace lockstep

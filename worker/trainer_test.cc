// The fit loop as N ranks in one process: equality over world sizes (RULE E), exact weighting, resuming, and
// decisions that all ranks take together.
#include "worker/trainer.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_lock.h"
#include "base/status_matchers.h"
#include "data/array_dataset.h"
#include "data/open_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/test_support.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One output without bias, kernel 0, mean squared error: the gradient can be computed by hand.
std::string LineFit(const std::string& optimizer, const std::string& fit, const std::string& rest = "") {
  return absl::StrCat(R"(
      model { input { shape: 1 } layers { dense { units: 1 use_bias: false kernel_initializer { zeros {} } } } }
      compile { loss { mean_squared_error {} } optimizer { )",
                      optimizer, R"( } }
      data { train { synthetic {} } }
      fit { )",
                      fit, " } ", rest);
}

std::shared_ptr<const Dataset> Line(std::vector<float> x, std::vector<float> y) {
  return *ArrayDataset::CreateWithValues(std::move(x), {1}, std::move(y));
}

FitRun MakeRun(const std::string& spec, std::shared_ptr<const Dataset> train,
               std::shared_ptr<const Dataset> validation = nullptr) {
  FitRun run;
  run.spec = ParseJobOrDie(spec);
  run.data = [train, validation](int) { return TrainingData{train, validation}; };
  return run;
}

double Metric(const RankResult& result, const std::string& name) {
  for (const v1::NamedValue& metric : result.summary->metrics())
    if (metric.name() == name) return metric.value();
  ADD_FAILURE() << "no metric " << name;
  return std::nan("");
}

struct EpochRecorder : public FitListener {
  void OnFitBegin(const v1::FitBegin& fit_begin) override { begin = fit_begin; }
  void OnProgress(const v1::Progress& progress) override { last_progress = progress; }
  void OnEpochEnd(const v1::EpochEnd& end) override { learning_rates.push_back(end.learning_rate()); }

  v1::FitBegin begin;
  v1::Progress last_progress;
  std::vector<double> learning_rates;
};

std::string ToyJob(const std::string& fit) {
  return absl::StrCat(R"(
      model { input { shape: 20 } layers { dense { units: 32 activation: RELU } } layers { dense { units: 2 } } }
      compile { loss { sparse_categorical_crossentropy { from_logits: true } } metrics: "accuracy" }
      data { train { synthetic { rows: 100 feature_shape: 20 classes: 2 } shuffle: true } }
      fit { )",
                      fit, " }");
}

FitRun ToyRun(const std::string& fit) {
  FitRun run;
  run.spec = ParseJobOrDie(ToyJob(fit));
  run.data = [spec = run.spec](int) { return *OpenTrainingData(spec, "."); };
  return run;
}

TEST(TrainerTest, RuleEHoldsForOneToFourRanks) {
  const FitRun run = ToyRun("epochs: 3 batch_size: 32 seed: 1");
  const std::vector<RankResult> one = FitInProcess(run, 1);
  ASSERT_OK(one[0].summary);
  for (int n = 2; n <= 4; ++n) {
    const std::vector<RankResult> results = FitInProcess(run, n);
    for (int rank = 0; rank < n; ++rank) {
      ASSERT_OK(results[rank].summary);
      EXPECT_LE(RelativeDistance(one[0].parameters, results[rank].parameters), 1e-5)
          << "n " << n << " rank " << rank;
      EXPECT_NEAR(Metric(results[rank], "loss") / Metric(one[0], "loss"), 1, 1e-5);
      EXPECT_NEAR(Metric(results[rank], "accuracy"), Metric(one[0], "accuracy"), 1e-5);
      EXPECT_EQ(results[rank].parameters, results[0].parameters) << "n " << n << " rank " << rank;
    }
  }
}

TEST(TrainerTest, TheSameSeedGivesTheSameBits) {
  const FitRun run = ToyRun("epochs: 2 batch_size: 32 seed: 7");
  const std::vector<RankResult> first = FitInProcess(run, 2), second = FitInProcess(run, 2);
  ASSERT_OK(first[0].summary);
  ASSERT_OK(second[0].summary);
  EXPECT_EQ(first[0].parameters, second[0].parameters);
  EXPECT_EQ(first[0].slots, second[0].slots);
}

TEST(TrainerTest, BucketSizesDoNotChangeABit) {
  FitRun run = ToyRun("epochs: 2 batch_size: 32 seed: 7");
  const std::vector<RankResult> one_bucket = FitInProcess(run, 3);
  // 738 parameters and padding: with 64 bytes per pack, dozens of buckets.
  run.spec.mutable_communication_options()->set_bytes_per_pack(64);
  const std::vector<RankResult> many_buckets = FitInProcess(run, 3);
  ASSERT_OK(many_buckets[0].summary);
  // Chunks are cut anew in every bucket, so sums differ in rounding; each is the same on all ranks.
  EXPECT_LE(RelativeDistance(one_bucket[0].parameters, many_buckets[0].parameters), 1e-5);
  EXPECT_EQ(many_buckets[0].parameters, many_buckets[2].parameters);
}

TEST(TrainerTest, A15UnequalFilesGiveEqualStepsOnAllRanks) {
  std::vector<float> x, y;
  for (int i = 0; i < 210; ++i) {
    x.push_back(static_cast<float>(i % 7) / 7);
    y.push_back(static_cast<float>(i % 5));
  }
  const FitRun run = MakeRun(
      LineFit("sgd { learning_rate { constant: 0.01 } }", "epochs: 2 batch_size: 20 seed: 1"), Line(x, y));
  const std::vector<RankResult> one = FitInProcess(run, 1), two = FitInProcess(run, 2);
  for (const RankResult& result : two) {
    ASSERT_OK(result.summary);
    EXPECT_EQ(result.summary->steps(), 22);
    EXPECT_EQ(result.summary->ranks(0).rows(), 210);
    EXPECT_EQ(result.summary->ranks(1).rows(), 210);
    EXPECT_LE(RelativeDistance(one[0].parameters, result.parameters), 1e-5);
  }
}

TEST(TrainerTest, A18BatchSizeIsGlobal) {
  const FitRun run = MakeRun(LineFit("sgd {}", "epochs: 1 batch_size: 32 seed: 1"),
                             Line(std::vector<float>(96, 1), std::vector<float>(96, 1)));
  const std::vector<RankResult> results = FitInProcess(run, 3);
  ASSERT_OK(results[0].summary);
  EXPECT_EQ(results[0].summary->steps(), 3);
  EXPECT_EQ(results[0].summary->ranks(0).rows(), 33);
  EXPECT_EQ(results[0].summary->ranks(2).rows(), 30);
}

TEST(TrainerTest, A18PerWorkerBatchSizeIsTimesTheRanks) {
  const FitRun run = MakeRun(LineFit("sgd {}", "epochs: 1 per_worker_batch_size: 32 seed: 1"),
                             Line(std::vector<float>(96, 1), std::vector<float>(96, 1)));
  const std::vector<RankResult> results = FitInProcess(run, 3);
  ASSERT_OK(results[0].summary);
  EXPECT_EQ(results[0].summary->steps(), 1);
}

TEST(TrainerTest, A19UnequalSharesAreWeightedByRows) {
  const FitRun run =
      MakeRun(LineFit("sgd { learning_rate { constant: 0.1 } }", "epochs: 1 batch_size: 3 seed: 1"),
              Line({1, 2, 3}, {2, 2, 9}));
  for (const RankResult& result : FitInProcess(run, 2)) {
    ASSERT_OK(result.summary);
    EXPECT_NEAR(Metric(result, "loss"), 29.6666667, 1e-6);
    EXPECT_NEAR(result.parameters[0], 2.2, 1e-6);
  }
}

TEST(TrainerTest, A19TheEpochsLossIsAMeanOverRowsNotOverBatches) {
  // Batches of two rows and one row, learning rate 0: mean losses 10 and 9.
  const float root = std::sqrt(10.0f);
  const FitRun run =
      MakeRun(LineFit("sgd { learning_rate { constant: 0 } }", "epochs: 1 batch_size: 2 seed: 1"),
              Line({1, 1, 1}, {root, root, 3}));
  for (const RankResult& result : FitInProcess(run, 2)) {
    ASSERT_OK(result.summary);
    EXPECT_NEAR(Metric(result, "loss"), 9.6666667, 1e-6);
  }
}

TEST(TrainerTest, A20TheUpdateDoesNotDependOnTheNumberOfRanks) {
  for (const int n : {1, 2, 4}) {
    FitRun run =
        MakeRun(LineFit("sgd { learning_rate { constant: 0.001 } }", "epochs: 1 batch_size: 4 seed: 1"),
                Line({-1, 2, -3, 4}, {0, 0, 0, 0}));
    run.spec.mutable_model()
        ->mutable_layers(0)
        ->mutable_dense()
        ->mutable_kernel_initializer()
        ->mutable_ones();
    for (const RankResult& result : FitInProcess(run, n)) {
      ASSERT_OK(result.summary);
      EXPECT_NEAR(Metric(result, "loss"), 7.5, 1e-6) << "n " << n;
      EXPECT_NEAR(result.parameters[0], 0.985, 1e-6) << "n " << n;
    }
  }
}

TEST(TrainerTest, A21OneParameterOverThreeRanks) {
  const FitRun run =
      MakeRun(LineFit("sgd { learning_rate { constant: 0.1 } }", "epochs: 1 batch_size: 3 seed: 1"),
              Line({1, 1, 1}, {1, 1, 1}));
  for (const RankResult& result : FitInProcess(run, 3)) {
    ASSERT_OK(result.summary);
    EXPECT_NEAR(result.parameters[0], 0.2, 1e-7);
  }
}

TEST(TrainerTest, A17ARankWithoutRowsTakesPartWithWeightZero) {
  const FitRun run =
      MakeRun(LineFit("sgd { learning_rate { constant: 0.1 } }", "epochs: 1 batch_size: 3 seed: 1"),
              Line({1, 3, 5}, {0, 1, 2}));
  const std::vector<RankResult> one = FitInProcess(run, 1), four = FitInProcess(run, 4);
  for (const RankResult& result : four) {
    ASSERT_OK(result.summary);
    EXPECT_EQ(result.summary->ranks(3).rows(), 0);
    EXPECT_LE(RelativeDistance(one[0].parameters, result.parameters), 1e-5);
  }
}

TEST(TrainerTest, A22RanksWithDifferentModelsAreRefusedBeforeTheFirstStep) {
  const FitRun run =
      MakeRun(LineFit("sgd {}", "epochs: 1 batch_size: 3 seed: 1"), Line({1, 3, 5}, {0, 1, 2}));
  FitRun other = run;
  other.spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_use_bias(true);
  std::vector<RankResult> results = FitInProcessEach({run, other});
  for (const RankResult& result : results) {
    EXPECT_THAT(result.summary.status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("the model differs"), HasSubstr("rank 0"), HasSubstr("rank 1"))));
  }
}

TEST(TrainerTest, RanksWithDifferentRowsOfTheSameNumberAreRefused) {
  FitRun run = MakeRun(LineFit("sgd {}", "epochs: 1 batch_size: 3 seed: 1"), nullptr);
  run.data = [](int rank) { return TrainingData{Line({1, 3, rank == 1 ? 6.0f : 5.0f}, {0, 1, 2}), nullptr}; };
  for (const RankResult& result : FitInProcess(run, 3)) {
    EXPECT_THAT(result.summary.status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("content of the training data differs"), HasSubstr("rank 1"))));
  }
}

TEST(TrainerTest, RanksThatReadTheRowsInDifferentOrderAreRefused) {
  const FitRun run =
      MakeRun(LineFit("sgd {}", "epochs: 1 batch_size: 3 seed: 1"), Line({1, 3, 5}, {0, 1, 2}));
  FitRun shuffled = run, copied = run;
  shuffled.spec.mutable_data()->mutable_train()->set_shuffle(true);
  copied.spec.mutable_data()->mutable_train()->set_shard(v1::Dataset::OFF);
  for (const FitRun& other : {shuffled, copied}) {
    for (const RankResult& result : FitInProcessEach({run, other})) {
      EXPECT_THAT(result.summary.status(),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           AllOf(HasSubstr("data.train differs"), HasSubstr("rank 1"))));
    }
  }
}

TEST(TrainerTest, TheLossCountsTheRegulariserOfTheWeightsItWasComputedWith) {
  // y = w x with w = 1: no error, and a penalty of 1. The step moves w to 0.8.
  FitRun run = MakeRun(LineFit("sgd { learning_rate { constant: 0.1 } }", "epochs: 1 batch_size: 2 seed: 1"),
                       Line({1, 1}, {1, 1}), Line({1, 1}, {1, 1}));
  v1::Dense* dense = run.spec.mutable_model()->mutable_layers(0)->mutable_dense();
  dense->mutable_kernel_initializer()->mutable_ones();
  dense->mutable_kernel_regularizer()->set_l2(1);
  EpochRecorder recorder;
  run.chief_listener = &recorder;
  const std::vector<RankResult> results = FitInProcess(run, 2);
  ASSERT_OK(results[0].summary);
  EXPECT_NEAR(Metric(results[0], "loss"), 1, 1e-6);
  EXPECT_NEAR(recorder.last_progress.metrics(0).value(), 1, 1e-6);
  EXPECT_NEAR(Metric(results[0], "val_loss"), 0.2 * 0.2 + 0.8 * 0.8, 1e-6);
}

TEST(TrainerTest, A23WithoutASeedAllRanksStartFromTheChiefsWeights) {
  const FitRun run = ToyRun("epochs: 1 batch_size: 32");
  const std::vector<RankResult> results = FitInProcess(run, 3);
  ASSERT_OK(results[0].summary);
  EXPECT_EQ(results[0].parameters, results[1].parameters);
  EXPECT_EQ(results[0].parameters, results[2].parameters);
  EXPECT_EQ(results[0].slots, results[2].slots);
}

TEST(TrainerTest, ANonFiniteLossIsSeenAlikeByAllRanksAndNamesTheOneItCameFrom) {
  // The output of the last row overflows float32; the row falls to rank 1.
  FitRun run =
      MakeRun(LineFit("sgd {}", "epochs: 1 batch_size: 4 seed: 1"), Line({1, 1, 1, 3e38f}, {1, 1, 1, 1}));
  run.spec.mutable_model()->mutable_layers(0)->mutable_dense()->mutable_kernel_initializer()->set_constant(
      10);
  for (const RankResult& result : FitInProcess(run, 2)) {
    EXPECT_THAT(result.summary.status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("the loss is not finite at step 1"), HasSubstr("on rank 1"))));
  }
}

TEST(TrainerTest, ANonFiniteGradientIsNotApplied) {
  // The loss, summed in double, is finite; its gradient overflows float32.
  const FitRun run =
      MakeRun(LineFit("sgd {}", "epochs: 1 batch_size: 4 seed: 1"), Line({1, 1, 1, 3e38f}, {1, 1, 1, 3e38f}));
  for (const RankResult& result : FitInProcess(run, 2)) {
    EXPECT_THAT(result.summary.status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the gradient of dense/kernel is not finite at step 1")));
  }
}

TEST(TrainerTest, ValidationIsExactOverRanksAndShortBatches) {
  FitRun run = MakeRun(LineFit("sgd { learning_rate { constant: 0 } }",
                               "epochs: 1 batch_size: 4 seed: 1 validation_batch_size: 2"),
                       Line({1, 1, 1, 1}, {1, 1, 1, 1}), Line({1, 1, 1}, {1, 2, 3}));
  for (const int n : {1, 2, 3}) {
    for (const RankResult& result : FitInProcess(run, n)) {
      ASSERT_OK(result.summary);
      EXPECT_NEAR(Metric(result, "val_loss"), 14.0 / 3, 1e-6) << "n " << n;
    }
  }
}

TEST(TrainerTest, EarlyStoppingGoesBackToTheBestWeightsOnAllRanks) {
  // With momentum the weight overshoots: 0.2, 0.54, 0.938, 1.3086, ... The third epoch is the best.
  const FitRun run = MakeRun(LineFit("sgd { learning_rate { constant: 0.1 } momentum: 0.9 }",
                                     R"(epochs: 10 batch_size: 1 seed: 1
                                        early_stopping { patience: 2 restore_best_weights: true })"),
                             Line({1}, {1}), Line({1}, {1}));
  for (const RankResult& result : FitInProcess(run, 2)) {
    ASSERT_OK(result.summary);
    EXPECT_EQ(result.summary->epochs(), 5);
    EXPECT_NEAR(result.parameters[0], 0.938, 1e-6);
  }
}

TEST(TrainerTest, TheLearningRateFallsOnAPlateau) {
  // The loss cannot improve: features are zero. Learning rate 0.1, then 0.01 from the third epoch on.
  FitRun run = MakeRun(LineFit("sgd { learning_rate { constant: 0.1 } }",
                               R"(epochs: 4 batch_size: 1 seed: 1 reduce_lr_on_plateau { patience: 1 })"),
                       Line({0}, {1}), Line({0}, {1}));
  EpochRecorder recorder;
  run.chief_listener = &recorder;
  ASSERT_OK(FitInProcess(run, 2)[0].summary);
  EXPECT_THAT(recorder.learning_rates, ElementsAre(DoubleNear(0.1, 1e-9), DoubleNear(0.1, 1e-9),
                                                   DoubleNear(0.01, 1e-9), DoubleNear(0.001, 1e-9)));
}

TEST(TrainerTest, ProgressAndEpochsAreToldToRankZeroOnly) {
  FitRun run = ToyRun("epochs: 2 batch_size: 32 seed: 1");
  EpochRecorder recorder;
  run.chief_listener = &recorder;
  ASSERT_OK(FitInProcess(run, 3)[0].summary);
  EXPECT_THAT(recorder.begin.shares(), ElementsAre(11, 11, 10));
  EXPECT_EQ(recorder.begin.steps_per_epoch(), 4);
  EXPECT_EQ(recorder.learning_rates.size(), 2);
  EXPECT_EQ(recorder.last_progress.global_step(), 8);
}

class ResumeTest : public ::testing::Test {
 protected:
  // One row x = 1, y = 1: the gradient is 2 (w - 1).
  FitRun Probe(const std::string& optimizer, int epochs) {
    FitRun run = MakeRun(LineFit(optimizer, absl::StrCat("epochs: ", epochs, " batch_size: 1 seed: 1"),
                                 R"(checkpoint { directory: "checkpoints" })"),
                         Line({1}, {1}));
    run.output_root = output_root_;
    return run;
  }

  // The rows of the third step cannot be read.
  void BreakOffAfterTwoSteps(const FitRun& run, int world_size) {
    FitRun broken = run;
    broken.data = [run](int rank) {
      TrainingData data = run.data(rank);
      // Of the rank that saves: it has done so before it asks for the rows.
      if (rank == 0) data.train = FailAfterReads(data.train, kSampledRows + 2);
      return data;
    };
    EXPECT_THAT(FitInProcess(broken, world_size)[0].summary.status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("broken on purpose")));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names,
                         FileSystem::Posix()->ListDirectory(output_root_ + "/checkpoints"));
    ASSERT_THAT(names, ::testing::Contains("step-000000000002"));
  }

  // Read one by one, before the first step, to compare the data of the ranks.
  static constexpr int kSampledRows = 16;
  const std::string output_root_ = MakeTestDirectory();
};

TEST_F(ResumeTest, A35ResumingRunsExactlyTheEpochsThatAreLeft) {
  const std::string sgd = "sgd { learning_rate { constant: 0.1 } }";
  ASSERT_OK(FitInProcess(Probe(sgd, 4), 2)[0].summary);
  const std::vector<RankResult> results = FitInProcess(Probe(sgd, 10), 2);
  for (const RankResult& result : results) {
    ASSERT_OK(result.summary);
    EXPECT_EQ(result.summary->history_size(), 6);
    EXPECT_EQ(result.summary->history(0).epoch(), 5);
    EXPECT_EQ(result.summary->steps(), 10);
    EXPECT_NEAR(result.parameters[0], 0.8926258, 1e-6);
  }
  const std::vector<RankResult> again = FitInProcess(Probe(sgd, 10), 2);
  ASSERT_OK(again[0].summary);
  EXPECT_EQ(again[0].summary->history_size(), 0);
  EXPECT_EQ(again[0].summary->steps(), 10);
}

TEST_F(ResumeTest, A36OptimizerStateIsRestored) {
  const std::string momentum = "sgd { learning_rate { constant: 0.1 } momentum: 0.9 }";
  const std::vector<RankResult> first = FitInProcess(Probe(momentum, 3), 2);
  ASSERT_OK(first[0].summary);
  EXPECT_NEAR(first[0].parameters[0], 0.938, 1e-6);
  std::vector<float> weights;
  for (const int epochs : {4, 5, 6})
    weights.push_back(FitInProcess(Probe(momentum, epochs), 2)[0].parameters[0]);
  EXPECT_NEAR(weights[0], 1.3086, 1e-6);
  EXPECT_NEAR(weights[1], 1.58042, 1e-6);
  EXPECT_NEAR(weights[2], 1.708974, 1e-6);
}

TEST_F(ResumeTest, A12TheUndisturbedRunEndsAtTheKnownWeight) {
  std::vector<float> x, y;
  for (int i = 1; i <= 8; ++i) {
    x.push_back(static_cast<float>(i));
    y.push_back(static_cast<float>(2 * i));
  }
  const FitRun run = MakeRun(
      LineFit("sgd { learning_rate { constant: 0.001 } }", "epochs: 6 batch_size: 4 seed: 1"), Line(x, y));
  for (const RankResult& result : FitInProcess(run, 2)) {
    ASSERT_OK(result.summary);
    EXPECT_NEAR(result.parameters[0], 0.9420332, 1e-6);
  }
}

TEST_F(ResumeTest, ResumingWithinAnEpochGivesTheBitsAndMetricsOfTheUndisturbedRun) {
  const std::string job = ToyJob("epochs: 2 batch_size: 32 seed: 3");
  FitRun undisturbed = ToyRun("epochs: 2 batch_size: 32 seed: 3");
  const std::vector<RankResult> expected = FitInProcess(undisturbed, 2);

  FitRun run = undisturbed;
  run.output_root = output_root_;
  run.spec.mutable_checkpoint()->set_directory("checkpoints");
  run.spec.mutable_checkpoint()->set_every_steps(1);
  BreakOffAfterTwoSteps(run, 2);

  const std::vector<RankResult> resumed = FitInProcess(run, 2);
  for (const RankResult& result : resumed) {
    ASSERT_OK(result.summary);
    EXPECT_EQ(result.summary->steps(), 8);
    EXPECT_EQ(result.parameters, expected[0].parameters);
    EXPECT_EQ(result.slots, expected[0].slots);
    EXPECT_EQ(result.summary->history(0).metrics(0).value(),
              expected[0].summary->history(0).metrics(0).value());
  }
}

TEST_F(ResumeTest, EveryStepsSavesTheLastStepOfAnEpochToo) {
  FitRun run = Probe("sgd {}", 4);
  run.data = [](int) { return TrainingData{Line({1, 1}, {1, 1}), nullptr}; };
  run.spec.mutable_checkpoint()->set_every_steps(2);
  run.spec.mutable_checkpoint()->set_keep(100);
  ASSERT_OK(FitInProcess(run, 2)[0].summary);
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> names,
                       FileSystem::Posix()->ListDirectory(output_root_ + "/checkpoints"));
  EXPECT_THAT(names, ::testing::IsSupersetOf({"step-000000000002", "step-000000000004", "step-000000000006",
                                              "step-000000000008"}));
}

TEST_F(ResumeTest, WithinAnEpochAnotherDataOrderIsRefused) {
  FitRun run = ToyRun("epochs: 2 batch_size: 32 seed: 3");
  run.output_root = output_root_;
  run.spec.mutable_checkpoint()->set_directory("checkpoints");
  run.spec.mutable_checkpoint()->set_every_steps(1);
  BreakOffAfterTwoSteps(run, 2);

  FitRun unshuffled = run, copied = run, fewer_rows = run;
  unshuffled.spec.mutable_data()->mutable_train()->set_shuffle(false);
  copied.spec.mutable_data()->mutable_train()->set_shard(v1::Dataset::OFF);
  fewer_rows.spec.mutable_data()->set_validation_split(0.1);
  fewer_rows.data = [spec = fewer_rows.spec](int) { return *OpenTrainingData(spec, "."); };
  for (const FitRun& other : {unshuffled, copied, fewer_rows}) {
    EXPECT_THAT(FitInProcess(other, 2)[0].summary.status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("within an epoch of 100 rows, shuffled, 32 per step"),
                               HasSubstr("the rows that are left cannot be told"))));
  }
  FitRun shorter = run;
  shorter.spec.mutable_fit()->set_steps_per_epoch(2);
  EXPECT_THAT(FitInProcess(shorter, 2)[0].summary.status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("an epoch of this job has 2")));
  // On more ranks the rows of a step are the same, and an epoch may end sooner or later.
  run.spec.mutable_fit()->set_steps_per_epoch(3);
  ASSERT_OK(FitInProcess(run, 3)[0].summary);
}

TEST_F(ResumeTest, AJobThatWasStoppedEarlyGoesOnWithoutTheRule) {
  FitRun run = Probe("sgd { learning_rate { constant: 0 } }", 10);
  run.spec.mutable_fit()->mutable_early_stopping()->set_monitor("loss");
  ASSERT_OK_AND_ASSIGN(const v1::JobSummary stopped, FitInProcess(run, 2)[0].summary);
  EXPECT_LT(stopped.epochs(), 10);
  ASSERT_OK_AND_ASSIGN(const v1::JobSummary again, FitInProcess(run, 2)[0].summary);
  EXPECT_EQ(again.epochs(), stopped.epochs());
  run.spec.mutable_fit()->clear_early_stopping();
  ASSERT_OK_AND_ASSIGN(const v1::JobSummary rest, FitInProcess(run, 2)[0].summary);
  EXPECT_EQ(rest.epochs(), 10);
}

TEST_F(ResumeTest, ResumingOnAnotherWorldSizeKeepsRuleE) {
  FitRun run = ToyRun("epochs: 4 batch_size: 32 seed: 3");
  const std::vector<RankResult> expected = FitInProcess(run, 1);
  run.output_root = output_root_;
  run.spec.mutable_checkpoint()->set_directory("checkpoints");
  FitRun half = run;
  half.spec.mutable_fit()->set_epochs(2);
  ASSERT_OK(FitInProcess(half, 2)[0].summary);
  const std::vector<RankResult> resumed = FitInProcess(run, 3);
  ASSERT_OK(resumed[0].summary);
  EXPECT_LE(RelativeDistance(expected[0].parameters, resumed[0].parameters), 1e-5);
}

TEST_F(ResumeTest, ACheckpointOfAnotherModelIsRefusedWithBothShapes) {
  ASSERT_OK(FitInProcess(Probe("sgd {}", 1), 1)[0].summary);
  FitRun wider = Probe("sgd {}", 2);
  wider.spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_units(1);
  wider.spec.mutable_model()->mutable_input()->set_shape(0, 2);
  wider.data = [](int) { return TrainingData{*ArrayDataset::CreateWithValues({1, 1}, {2}, {1}), nullptr}; };
  EXPECT_THAT(
      FitInProcess(wider, 1)[0].summary.status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("[1, 1]"), HasSubstr("[2, 1]"))));
}

TEST_F(ResumeTest, ADirectoryBelongsToOneLiveJob) {
  ASSERT_OK(FitInProcess(Probe("sgd {}", 1), 1)[0].summary);
  ASSERT_OK_AND_ASSIGN(const auto lock, FileLock::Acquire(output_root_ + "/checkpoints"));
  EXPECT_THAT(FitInProcess(Probe("sgd {}", 2), 1)[0].summary.status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("checkpoint.directory"), HasSubstr("held by another"))));
}

TEST_F(ResumeTest, NeverRefusesADirectoryWithCheckpointsAndRequiredOneWithout) {
  FitRun run = Probe("sgd {}", 1);
  run.spec.mutable_checkpoint()->set_resume(v1::Checkpoint::REQUIRED);
  EXPECT_THAT(FitInProcess(run, 1)[0].summary.status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("REQUIRED")));
  run.spec.mutable_checkpoint()->set_resume(v1::Checkpoint::NEVER);
  ASSERT_OK(FitInProcess(run, 1)[0].summary);
  EXPECT_THAT(FitInProcess(run, 1)[0].summary.status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("NEVER")));
}

}  // namespace
}  // namespace lockstep

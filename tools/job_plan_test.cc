#include "tools/job_plan.h"

#include <memory>
#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/job_plan_text.h"
#include "tools/temporary_directory.h"
#include "worker/job_file.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 1000 rows of 20 features, two classes.
v1::JobSpec MakeSpec(const std::string& more) {
  return ParseJob(R"(
    model {
      input { shape: [20] }
      layers { dense { units: 32 activation: RELU } }
      layers { dense { units: 2 } }
    }
    compile {
      optimizer { adam {} }
      loss { sparse_categorical_crossentropy { from_logits: true } }
    })" + more,
                  "test")
      .value();
}

v1::JobSpec Toy() {
  return MakeSpec(R"(data { train { synthetic { rows: 1000 feature_shape: [20] classes: 2 } } }
                     fit { epochs: 3 batch_size: 32 })");
}

TEST(JobPlanTest, CountsParametersStepsAndShares) {
  ASSERT_OK_AND_ASSIGN(const JobPlan plan, MakeJobPlan(Toy(), 3, ""));
  EXPECT_EQ(plan.parameters, 20 * 32 + 32 + 32 * 2 + 2);
  EXPECT_THAT(plan.shares, ElementsAre(11, 11, 10));
  EXPECT_EQ(plan.steps_per_epoch, 32);
  EXPECT_EQ(plan.train->rows, 1000);
  EXPECT_FALSE(plan.validation.has_value());
}

TEST(JobPlanTest, AdamKeepsTwoArraysBesidesParametersAndGradients) {
  ASSERT_OK_AND_ASSIGN(const JobPlan plan, MakeJobPlan(Toy(), 1, ""));
  EXPECT_GE(plan.memory.parameters, plan.parameters * 4);
  EXPECT_EQ(plan.memory.gradients, plan.memory.parameters);
  EXPECT_EQ(plan.memory.slots, 2 * plan.memory.parameters);
  EXPECT_GT(plan.memory.activations, 32 * (32 + 2) * 4);
}

TEST(JobPlanTest, PerWorkerBatchGrowsWithTheRanks) {
  v1::JobSpec spec = Toy();
  spec.mutable_fit()->clear_batch_size();
  spec.mutable_fit()->set_per_worker_batch_size(10);
  ASSERT_OK_AND_ASSIGN(const JobPlan plan, MakeJobPlan(spec, 4, ""));
  EXPECT_EQ(plan.global_batch, 40);
  EXPECT_EQ(plan.steps_per_epoch, 25);
}

TEST(JobPlanTest, DataThatIsNotHereIsNoMistakeOfTheJob) {
  ASSERT_OK_AND_ASSIGN(const auto root, TemporaryDirectory::Create());
  const v1::JobSpec spec = MakeSpec(R"(data { train { npy { features: "x.npy" labels: "y.npy" } } }
                                       fit { epochs: 3 batch_size: 32 })");
  ASSERT_OK_AND_ASSIGN(const JobPlan plan, MakeJobPlan(spec, 2, root->path()));
  EXPECT_THAT(plan.data_status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("x.npy")));
  EXPECT_EQ(plan.steps_per_epoch, 0);
  EXPECT_THAT(JobPlanText(plan), HasSubstr("NOT CHECKED"));
}

TEST(JobPlanTest, APathOutsideIsAMistakeAlsoWhereOtherFilesAreNotHere) {
  ASSERT_OK_AND_ASSIGN(const auto root, TemporaryDirectory::Create());
  const v1::JobSpec spec = MakeSpec(R"(data { train { npz { path: "none" } }
                                              validation { npy { features: "x.npy" labels: "../y.npy" } } }
                                       fit { epochs: 3 batch_size: 32 })");
  EXPECT_THAT(
      MakeJobPlan(spec, 2, root->path()).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data.validation.npy.labels: ../y.npy")));
}

TEST(JobPlanTest, InitialWeightsThatAreNotHereAreToldOf) {
  v1::JobSpec spec = Toy();
  spec.set_initial_weights("no_such.safetensors");
  ASSERT_OK_AND_ASSIGN(const JobPlan plan, MakeJobPlan(spec, 1, ""));
  EXPECT_THAT(JobPlanText(plan), HasSubstr("Initial weights: NOT CHECKED"));
}

TEST(JobPlanTest, NamesBothShapesOfDataThatDoNotFitTheModel) {
  v1::JobSpec spec = Toy();
  spec.mutable_data()->mutable_train()->mutable_synthetic()->set_feature_shape(0, 19);
  EXPECT_THAT(MakeJobPlan(spec, 1, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("data.train"), HasSubstr("[19]"), HasSubstr("[20]"))));
}

TEST(JobPlanTest, RefusesMoreStepsThanTheDataHas) {
  v1::JobSpec spec = Toy();
  spec.mutable_fit()->set_steps_per_epoch(33);
  EXPECT_THAT(MakeJobPlan(spec, 1, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("33")));
}

TEST(JobPlanTextTest, ReadsLikeASummaryOfKeras) {
  ASSERT_OK_AND_ASSIGN(const JobPlan plan, MakeJobPlan(Toy(), 3, ""));
  EXPECT_EQ(
      JobPlanText(plan),
      "Job: job\n\n"
      "layer    kind   output shape  parameters  activations per row\n"
      "dense    dense  [32]                 672                128 B\n"
      "dense_1  dense  [2]                   66                  8 B\n\n"
      "Total parameters: 738 (2.9 KiB)\n"
      "Memory per rank: 2.9 KiB parameters + 2.9 KiB gradients + 5.9 KiB optimizer (momentum, velocity) + "
      "about 4.2 KiB activations = 16.0 KiB\n"
      "Batch: global 32 = 11+11+10 over 3 ranks\n"
      "Training data: 1000 rows of [20], labelled by a class\n"
      "Steps: 32 per epoch, 96 in 3 epochs; the last one of an epoch has 8 rows\n");
}

}  // namespace
}  // namespace lockstep

// Jobs that use a trained model: EVALUATE and PREDICT, on clusters of different sizes.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/checkpoint_files.h"
#include "test/cluster.h"
#include "test/files.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 1000;
constexpr int kOutputs = 2;

// A .npy file as header text and float32 values.
struct NpyFile {
  std::string header;
  std::vector<float> values;
};

NpyFile ReadNpy(const std::string& path) {
  const std::string bytes = ReadFileOrDie(path);
  const size_t data = bytes.size() - sizeof(float) * kRows * kOutputs;
  NpyFile file{bytes.substr(0, data), std::vector<float>(kRows * kOutputs)};
  std::memcpy(file.values.data(), bytes.data() + data, bytes.size() - data);
  return file;
}

class PassesTest : public ::testing::Test {
 protected:
  // Clusters of one and of three that both read the checkpoint trained by the first.
  void SetUp() override {
    ClusterOptions options;
    one_ = std::make_unique<Cluster>(options);
    options.world_size = 3;
    for (int rank = 0; rank < 3; ++rank) options.output_roots[rank] = one_->output_path("");
    three_ = std::make_unique<Cluster>(options);
    ASSERT_OK_AND_ASSIGN(const v1::Job job, one_->client().Run(ToyJob()));
    ASSERT_EQ(job.state(), v1::SUCCEEDED) << job.error();
    trained_ = job.summary();
  }

  v1::JobSpec Pass(v1::JobSpec::Task task) {
    v1::JobSpec spec = ToyJob();
    spec.set_task(task);
    return spec;
  }

  v1::JobSummary trained_;
  std::unique_ptr<Cluster> one_, three_;
};

TEST_F(PassesTest, EvaluationIsExactOnAnyNumberOfProcesses) {
  ASSERT_OK_AND_ASSIGN(const v1::Job alone, one_->client().Run(Pass(v1::JobSpec::EVALUATE)));
  ASSERT_OK_AND_ASSIGN(const v1::Job shared, three_->client().Run(Pass(v1::JobSpec::EVALUATE)));
  for (const v1::Job* job : {&alone, &shared}) {
    ASSERT_EQ(job->state(), v1::SUCCEEDED) << job->error();
    EXPECT_EQ(job->summary().evaluated_rows(), kRows);
    EXPECT_EQ(job->summary().parameter_hash(), trained_.parameter_hash());
  }
  const double loss = MetricOf(alone.summary(), "loss");
  EXPECT_NEAR(MetricOf(shared.summary(), "loss"), loss, kRuleE * loss);
  EXPECT_EQ(MetricOf(shared.summary(), "accuracy"), MetricOf(alone.summary(), "accuracy"));
}

TEST_F(PassesTest, PredictionsAreInRowOrderOnAnyNumberOfProcesses) {
  v1::JobSpec spec = Pass(v1::JobSpec::PREDICT);
  spec.mutable_predict()->set_output("alone.npy");
  ASSERT_OK_AND_ASSIGN(const v1::Job alone, one_->client().Run(spec));
  spec.mutable_predict()->set_output("shared.npy");
  ASSERT_OK_AND_ASSIGN(const v1::Job shared, three_->client().Run(spec));
  ASSERT_EQ(alone.state(), v1::SUCCEEDED) << alone.error();
  ASSERT_EQ(shared.state(), v1::SUCCEEDED) << shared.error();
  const NpyFile expected = ReadNpy(one_->output_path("alone.npy"));
  const NpyFile actual = ReadNpy(one_->output_path("shared.npy"));
  EXPECT_THAT(expected.header, HasSubstr("(1000, 2)"));
  EXPECT_EQ(actual.header, expected.header);
  ExpectClose({{"outputs", expected.values}}, {{"outputs", actual.values}}, kRuleE);
}

TEST(FilesPerRankTest, EvaluationCountsTheRowsOfAllRanks) {
  ClusterOptions options;
  options.world_size = 2;
  for (int rank = 0; rank < 2; ++rank) options.data_roots[rank] = MakeTemporaryDirectory();
  // The model is y = 0: the mean squared error is (3 * 1 + 2 * 16) / 5.
  WriteFileOrDie(options.data_roots[0] + "/rows.csv", "x,y\n1,1\n2,1\n3,1\n");
  WriteFileOrDie(options.data_roots[1] + "/rows.csv", "x,y\n4,4\n5,4\n");
  const Cluster cluster(options);
  v1::JobSpec spec = ParseJobOrDie(R"(
      model { input { shape: 1 } layers { dense { units: 1 kernel_initializer { zeros {} } } } }
      compile { loss { mean_squared_error {} } optimizer { sgd { learning_rate { constant: 0 } } } }
      data { train { csv { paths: "rows.csv" features: "x" label: "y" } shard: FILE } }
      fit { epochs: 1 batch_size: 2 seed: 1 }
      checkpoint { directory: "line" }
      on_failure: FAIL)");
  ASSERT_OK_AND_ASSIGN(const v1::Job fit, cluster.client().Run(spec));
  ASSERT_EQ(fit.state(), v1::SUCCEEDED) << fit.error();
  spec.set_task(v1::JobSpec::EVALUATE);
  ASSERT_OK_AND_ASSIGN(const v1::Job evaluated, cluster.client().Run(spec));
  ASSERT_EQ(evaluated.state(), v1::SUCCEEDED) << evaluated.error();
  EXPECT_EQ(evaluated.summary().evaluated_rows(), 5);
  EXPECT_NEAR(MetricOf(evaluated.summary(), "loss"), 7, 1e-5);
}

TEST_F(PassesTest, ADirectoryWithoutACheckpointFailsTheJobWithItsName) {
  v1::JobSpec spec = Pass(v1::JobSpec::EVALUATE);
  spec.mutable_checkpoint()->set_directory("nothing-here");
  ASSERT_OK_AND_ASSIGN(const v1::Job job, three_->client().Run(spec));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), HasSubstr("nothing-here"));
}

}  // namespace
}  // namespace lockstep

// The commands that talk to a running cluster.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/local_cluster.h"
#include "tools/lockstep_runner.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two daemons; commands go to the one that is not the chief.
class LockstepClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LocalCluster::Options options;
    options.workers = 2;
    options.lockstepd = runner_.Path("worker/lockstepd");
    options.flags = {"--output_root=" + runner_.directory()};
    options.log_directory = runner_.directory();
    ASSERT_OK_AND_ASSIGN(cluster_, LocalCluster::Start(options));
  }

  LockstepRunner::Result Run(const std::string& arguments) {
    return runner_.Run(absl::StrCat(arguments, " --address ", cluster_->address(1)));
  }
  std::string Toy() const { return runner_.Path("examples/toy.textproto"); }

  LockstepRunner runner_;
  std::unique_ptr<LocalCluster> cluster_;
};

TEST_F(LockstepClusterTest, SubmitsAndWatchesThroughAnyRank) {
  const LockstepRunner::Result result = Run("submit --watch --summary s.json " + Toy());
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("SUCCEEDED: 3 epochs, 96 steps"));
  EXPECT_EQ(runner_.ReadJson("s.json")["state"], "SUCCEEDED");
}

TEST_F(LockstepClusterTest, TheSameRequestTwiceIsOneJob) {
  const std::string first = Run("submit --request_id mine " + Toy()).output;
  EXPECT_THAT(first, StartsWith("job job-1"));
  EXPECT_EQ(Run("submit --request_id mine " + Toy()).output, first);
  EXPECT_NE(Run("submit " + Toy()).output, first);
}

TEST_F(LockstepClusterTest, EndedJobsCanBeListedShownAndWatchedAgain) {
  ASSERT_EQ(Run("submit --watch " + Toy()).exit_code, 0);
  EXPECT_THAT(Run("jobs").output, HasSubstr("toy   SUCCEEDED"));
  EXPECT_THAT(Run("status").output, HasSubstr("3 epochs, 96 steps on 2 ranks"));
  EXPECT_EQ(nlohmann::json::parse(Run("status --json").output)["state"], "SUCCEEDED");
  const LockstepRunner::Result watched = Run("watch");
  EXPECT_EQ(watched.exit_code, 0);
  EXPECT_THAT(watched.output, HasSubstr("Epoch 3/3"));
}

TEST_F(LockstepClusterTest, ACancelledJobIsExitCode1) {
  runner_.Write("endless", R"(
    model { input { shape: [20] } layers { dense { units: 2 } } }
    compile { loss { sparse_categorical_crossentropy { from_logits: true } } }
    data { train { synthetic { rows: 1000 feature_shape: [20] classes: 2 } } }
    fit { epochs: 1000000000 batch_size: 32 seed: 1 }
  )");
  const std::string submitted = Run("submit endless").output;
  const std::string job = submitted.substr(4, submitted.find('\n') - 4);
  EXPECT_EQ(Run("cancel " + job).exit_code, 0);
  const LockstepRunner::Result watched = Run("watch " + job);
  EXPECT_EQ(watched.exit_code, 1);
  EXPECT_THAT(watched.errors, StartsWith("lockstep: the job was cancelled"));
}

TEST_F(LockstepClusterTest, AJobThatTheClusterRefusesIsExitCode2) {
  runner_.Write("job", "model {} compile {} data {}");
  const LockstepRunner::Result result = Run("submit job");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "lockstep: fit is required\n");
}

TEST_F(LockstepClusterTest, AJobThatDoesNotExistIsExitCode2) {
  for (const std::string command : {"watch", "status", "cancel"}) {
    const LockstepRunner::Result result = Run(command + " no-such-job");
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.errors, HasSubstr("no-such-job"));
  }
}

TEST_F(LockstepClusterTest, ShowsTheCluster) {
  const LockstepRunner::Result result = Run("cluster");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("worker:0 *"));
  EXPECT_THAT(result.output, HasSubstr("All 2 ranks have joined."));
  EXPECT_EQ(nlohmann::json::parse(Run("cluster --json").output)["complete"], true);
}

}  // namespace
}  // namespace lockstep

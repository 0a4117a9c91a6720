// lockstepd --job: every node gets the same file, runs it to completion and exits.
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
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

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Lines of glog above WARNING, and of the daemon itself.
std::vector<std::string> ErrorLines(const Daemon& daemon) {
  std::vector<std::string> errors;
  for (const std::string& line : daemon.LogLines())
    if (line[0] == 'E' || line[0] == 'F' || absl::StartsWith(line, "lockstepd:")) errors.push_back(line);
  return errors;
}

// The one line that says why the daemon ended; others may log on until it has.
std::string Refusal(const Daemon& daemon) {
  for (const std::string& line : daemon.LogLines())
    if (absl::StartsWith(line, "lockstepd: ")) return line;
  return "";
}

class OwnJobTest : public ::testing::Test {
 protected:
  // One process per specification, as ranks of one cluster.
  void StartEach(const std::vector<v1::JobSpec>& specs, const std::vector<std::string>& flags = {}) {
    addresses_ = ChooseAddresses(static_cast<int>(specs.size()));
    for (size_t rank = 0; rank < specs.size(); ++rank) Start(static_cast<int>(rank), specs[rank], flags);
  }

  void Start(int rank, const v1::JobSpec& spec, const std::vector<std::string>& flags) {
    const std::string name = absl::StrCat(directory_, "/rank-", rank);
    WriteFileOrDie(name + ".textproto", spec.DebugString());
    DaemonOptions options;
    options.tf_config = WorkerTfConfig(addresses_, rank);
    options.flags = {"--job", name + ".textproto", "--output_root", directory_};
    options.flags.insert(options.flags.end(), flags.begin(), flags.end());
    options.log = name + ".log";
    daemons_.push_back(std::make_unique<Daemon>(options));
  }

  const std::string directory_ = MakeTemporaryDirectory();
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

TEST_F(OwnJobTest, A14AllRanksEndWithSuccessAndWithoutErrors) {
  // The chief validates and saves after the last step while the others are done with it.
  v1::JobSpec spec = ToyJob();
  spec.mutable_data()->set_validation_split(0.5);
  StartEach({spec, spec, spec});
  for (const auto& daemon : daemons_) EXPECT_EQ(daemon->AwaitEnd(), "exit code 0") << daemon->Log();
  for (const auto& daemon : daemons_) EXPECT_THAT(ErrorLines(*daemon), ::testing::IsEmpty());
  EXPECT_EQ(ReadManifest(directory_ + "/toy").epoch(), 3);
}

TEST_F(OwnJobTest, A22FilesThatDifferAreRefusedBeforeTheFirstStepWithBothFingerprints) {
  v1::JobSpec four = ToyJob();
  four.mutable_model()->mutable_layers(0)->mutable_dense()->set_units(4);
  v1::JobSpec five = four;
  five.mutable_model()->mutable_layers(0)->mutable_dense()->set_units(5);
  StartEach({four, five});
  for (const auto& daemon : daemons_) {
    EXPECT_EQ(daemon->AwaitEnd(), "exit code 1") << daemon->Log();
    EXPECT_THAT(Refusal(*daemon), AllOf(HasSubstr("the model differs"), HasSubstr("rank 0"),
                                        HasSubstr("rank 1"), HasSubstr("[20, 4]"), HasSubstr("[20, 5]")));
    EXPECT_THAT(daemon->Log(), Not(HasSubstr("fit:")));
  }
}

TEST_F(OwnJobTest, A22FilesOfDifferentTasksAreRefusedAtOnce) {
  v1::JobSpec evaluate = ToyJob();
  evaluate.set_task(v1::JobSpec::EVALUATE);
  StartEach({ToyJob(), evaluate});
  for (const auto& daemon : daemons_) {
    EXPECT_EQ(daemon->AwaitEnd(), "exit code 1") << daemon->Log();
    EXPECT_THAT(Refusal(*daemon), AllOf(HasSubstr("task differs"), HasSubstr("rank 0 has FIT"),
                                        HasSubstr("rank 1 has EVALUATE")));
  }
}

TEST_F(OwnJobTest, AFileWithAMistakeIsRefusedWithThePath) {
  v1::JobSpec spec = ToyJob();
  spec.mutable_fit()->set_epochs(0);
  StartEach({spec});
  EXPECT_EQ(daemons_[0]->AwaitEnd(), "exit code 2");
  EXPECT_THAT(Refusal(*daemons_[0]), AllOf(HasSubstr("rank-0.textproto"), HasSubstr("fit.epochs")));
}

TEST_F(OwnJobTest, ARankThatNeverStartsIsExitCode3) {
  addresses_ = ChooseAddresses(3);
  const std::vector<std::string> flags = {"--join_timeout", "2"};
  Start(0, ToyJob(), flags);
  Start(1, ToyJob(), flags);
  for (const auto& daemon : daemons_) EXPECT_EQ(daemon->AwaitEnd(), "exit code 3") << daemon->Log();
  EXPECT_THAT(Refusal(*daemons_[0]),
              AllOf(HasSubstr(absl::StrCat("rank 2 (", addresses_[2], ") did not join")),
                    HasSubstr("connection refused")));
}

TEST_F(OwnJobTest, ARankThatDiesEndsAllWithExitCode1) {
  StartEach({EndlessJob(), EndlessJob(), EndlessJob()});
  ASSERT_TRUE(daemons_[0]->AwaitLog("fit:")) << daemons_[0]->Log();
  daemons_[2]->Kill();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(daemons_[rank]->AwaitEnd(), "exit code 1") << daemons_[rank]->Log();
    EXPECT_THAT(Refusal(*daemons_[rank]), HasSubstr(absl::StrCat("rank 2 (", addresses_[2], ")")));
  }
}

TEST_F(OwnJobTest, AChiefThatDiesEndsAllWithExitCode1) {
  StartEach({EndlessJob(), EndlessJob(), EndlessJob()});
  ASSERT_TRUE(daemons_[0]->AwaitLog("fit:")) << daemons_[0]->Log();
  daemons_[0]->Kill();
  for (const int rank : {1, 2}) {
    EXPECT_EQ(daemons_[rank]->AwaitEnd(), "exit code 1") << daemons_[rank]->Log();
    EXPECT_THAT(Refusal(*daemons_[rank]), HasSubstr(absl::StrCat("rank 0 (", addresses_[0], ") lost")));
  }
}

TEST_F(OwnJobTest, ASubmittedJobIsRefused) {
  StartEach({EndlessJob()});
  ASSERT_TRUE(daemons_[0]->AwaitListening(addresses_[0])) << daemons_[0]->Log();
  EXPECT_THAT(JobClient(addresses_[0]).Submit(ToyJob()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--job")));
  daemons_[0]->Signal(SIGTERM);
  EXPECT_EQ(daemons_[0]->AwaitEnd(), "exit code 1") << daemons_[0]->Log();
}

}  // namespace
}  // namespace lockstep

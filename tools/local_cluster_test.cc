#include "tools/local_cluster.h"

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trainer.pb.h"
#include "tools/cluster_table.h"
#include "tools/temporary_directory.h"
#include "tools/trainer_client.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The runfiles' directory is the working directory.
constexpr char kLockstepd[] = "worker/lockstepd";

class LocalClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, TemporaryDirectory::Create());
    options_.workers = 2;
    options_.lockstepd = kLockstepd;
    options_.log_directory = directory_->path();
  }

  // Takes the daemon's place.
  void UseScript(const std::string& script) {
    options_.lockstepd = directory_->path() + "/daemon";
    ASSERT_OK(WriteWholeFile(FileSystem::Posix(), options_.lockstepd, "#!/bin/sh\n" + script));
    ASSERT_EQ(chmod(options_.lockstepd.c_str(), 0755), 0);
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  LocalCluster::Options options_;
};

TEST_F(LocalClusterTest, IsCompleteOnceItHasStarted) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LocalCluster> cluster, LocalCluster::Start(options_));
  ASSERT_OK_AND_ASSIGN(const auto client, TrainerClient::Create(cluster->address(1), absl::Seconds(30)));
  ASSERT_OK_AND_ASSIGN(const v1::Cluster description, client->DescribeCluster());
  EXPECT_TRUE(IsComplete(description));
  EXPECT_EQ(description.members_size(), 2);
  EXPECT_EQ(description.members(1).address(), cluster->address(1));
  EXPECT_OK(cluster->CheckRunning());
}

TEST_F(LocalClusterTest, LeavesNoDaemonBehind) {
  pid_t pid = 0;
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LocalCluster> cluster, LocalCluster::Start(options_));
    pid = cluster->daemon(1)->pid();
    cluster->Stop();
    cluster->Stop();
    EXPECT_EQ(cluster->daemon(0)->Ended(), "exit code 0");
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(LocalClusterTest, NamesADaemonThatWasKilled) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LocalCluster> cluster, LocalCluster::Start(options_));
  cluster->daemon(1)->Signal(SIGKILL);
  ASSERT_TRUE(cluster->daemon(1)->WaitUntil(absl::Now() + absl::Minutes(1)));
  EXPECT_THAT(cluster->CheckRunning(), StatusIs(absl::StatusCode::kUnavailable,
                                                HasSubstr("the daemon of rank 1 ended with signal 9")));
}

TEST_F(LocalClusterTest, ShowsWhatADaemonThatCannotStartSays) {
  options_.workers = 1;
  options_.flags = {"--no_such_flag"};
  EXPECT_THAT(
      LocalCluster::Start(options_).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("the daemon of rank 0 ended with exit code 2"), HasSubstr("rank-0.log"))));
}

TEST_F(LocalClusterTest, OnlyARegularFileIsAProgram) {
  EXPECT_OK(CheckProgram("/bin/sh"));
  EXPECT_THAT(CheckProgram(directory_->path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
}

TEST_F(LocalClusterTest, TriesOtherPortsWhenOneIsTaken) {
  UseScript(absl::StrCat("echo \"$TF_CONFIG\" >> ", directory_->path(), "/tries\n",
                         "echo 'lockstepd: cannot listen on x: address already in use; does' >&2\nexit 2\n"));
  options_.workers = 1;
  EXPECT_THAT(LocalCluster::Start(options_).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("address already in use")));
  ASSERT_OK_AND_ASSIGN(const std::string tries,
                       ReadWholeFile(FileSystem::Posix(), directory_->path() + "/tries", 1 << 20));
  EXPECT_EQ(std::count(tries.begin(), tries.end(), '\n'), 5);
}

TEST_F(LocalClusterTest, OtherErrorsAreNotTriedAgain) {
  UseScript(absl::StrCat("echo >> ", directory_->path(), "/tries\necho 'lockstepd: no' >&2\nexit 2\n"));
  options_.workers = 1;
  EXPECT_THAT(LocalCluster::Start(options_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("exit code 2: no (log: ")));
  EXPECT_EQ(ReadWholeFile(FileSystem::Posix(), directory_->path() + "/tries", 1 << 20).value(), "\n");
}

TEST_F(LocalClusterTest, GivesUpOnDaemonsThatDoNotAnswer) {
  UseScript("exec sleep 1000\n");
  options_.start_timeout = absl::ZeroDuration();
  EXPECT_THAT(LocalCluster::Start(options_).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("have not found each other")));
}

TEST_F(LocalClusterTest, StartingCanBeInterrupted) {
  UseScript("exec sleep 1000\n");
  options_.interrupted = [] { return true; };
  EXPECT_THAT(LocalCluster::Start(options_).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
}

}  // namespace
}  // namespace lockstep

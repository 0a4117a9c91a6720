// Ranks that die, freeze or are cut off while a job waits for them: it goes on without rollback, and its
// result has the bits of an undisturbed run.
#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/cluster.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// 3 epochs of 1000 steps of about a millisecond: time to be disturbed.
v1::JobSpec WaitingJob() {
  v1::JobSpec spec = ToyJob();
  spec.set_name("waiting");
  spec.mutable_data()->mutable_train()->mutable_synthetic()->set_rows(32'000);
  spec.set_on_failure(v1::JobSpec::WAIT);
  spec.clear_checkpoint();
  return spec;
}

v1::JobSpec EndlessWaitingJob() {
  v1::JobSpec spec = EndlessJob();
  spec.set_on_failure(v1::JobSpec::WAIT);
  return spec;
}

// Epochs as they were reported: number and hash.
std::vector<std::string> EpochsOf(const std::vector<v1::JobEvent>& events) {
  std::vector<std::string> epochs;
  for (const v1::JobEvent& event : events) {
    if (event.has_epoch_end())
      epochs.push_back(absl::StrCat(event.epoch_end().epoch(), " ", event.epoch_end().parameter_hash()));
  }
  return epochs;
}

class RecoveryTest : public ::testing::Test {
 protected:
  explicit RecoveryTest(int world_size = 3, const std::vector<std::string>& flags = {})
      : cluster_(Options(world_size, flags)) {}

  static ClusterOptions Options(int world_size, const std::vector<std::string>& flags) {
    ClusterOptions options;
    options.world_size = world_size;
    options.flags = flags;
    return options;
  }

  void Undisturbed(const v1::JobSpec& spec) {
    ASSERT_OK_AND_ASSIGN(const std::string id, client_.Submit(spec));
    ASSERT_OK_AND_ASSIGN(undisturbed_, client_.AwaitEnd(id));
    ASSERT_EQ(undisturbed_.state(), v1::SUCCEEDED) << undisturbed_.error();
    ASSERT_OK_AND_ASSIGN(const std::vector<v1::JobEvent> events, client_.Events(id));
    undisturbed_epochs_ = EpochsOf(events);
  }

  std::string Start(const v1::JobSpec& spec) {
    absl::StatusOr<std::string> id = client_.Submit(spec);
    EXPECT_OK(id);
    return id.value_or("");
  }

  void ExpectTheSameResult(const std::string& id) {
    ASSERT_OK_AND_ASSIGN(const v1::Job job, client_.AwaitEnd(id));
    ASSERT_EQ(job.state(), v1::SUCCEEDED) << job.error();
    EXPECT_EQ(job.summary().parameter_hash(), undisturbed_.summary().parameter_hash());
    EXPECT_EQ(job.summary().steps(), undisturbed_.summary().steps());
    ASSERT_OK_AND_ASSIGN(const std::vector<v1::JobEvent> events, client_.Events(id));
    EXPECT_EQ(EpochsOf(events), undisturbed_epochs_) << "each epoch is reported once";
    EXPECT_EQ(job.summary().history_size(), undisturbed_.summary().history_size());
  }

  absl::Status AwaitMessage(const std::string& id, const std::string& text) {
    return client_
        .AwaitEvent(
            id,
            [&text](const v1::JobEvent& event) { return event.message().find(text) != std::string::npos; })
        .status();
  }

  Cluster cluster_;
  JobClient client_ = cluster_.client();
  v1::Job undisturbed_;
  std::vector<std::string> undisturbed_epochs_;
};

TEST_F(RecoveryTest, ARankThatIsKilledComesBackAndTheResultIsTheSame) {
  Undisturbed(WaitingJob());
  const std::string id = Start(WaitingJob());
  ASSERT_OK(client_.AwaitStep(id, 700));
  cluster_.daemon(2).Kill();
  ASSERT_OK(AwaitMessage(id, absl::StrCat(cluster_.Name(2), " lost at step ")));
  cluster_.Launch(2);
  ASSERT_OK(AwaitMessage(id, "goes on with 3 of 3 ranks (generation 2)"));
  ASSERT_OK(client_.AwaitStep(id, 1700));
  cluster_.daemon(1).Kill();
  cluster_.Launch(1);
  ExpectTheSameResult(id);
}

TEST_F(RecoveryTest, A13QuickRestartsNeverMixTheLivesOfARank) {
  v1::JobSpec spec = WaitingJob();
  spec.mutable_fit()->set_epochs(6);
  Undisturbed(spec);
  const std::string id = Start(spec);
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(client_.AwaitStep(id, 100 + i * 200));
    cluster_.daemon(1).Kill();
    cluster_.Launch(1);
  }
  ExpectTheSameResult(id);
}

TEST_F(RecoveryTest, NoStepIsAppliedWhileARankIsAway) {
  const std::string id = Start(EndlessWaitingJob());
  ASSERT_OK(client_.AwaitStep(id, 100));
  cluster_.daemon(2).Kill();
  ASSERT_OK(AwaitMessage(id, " lost at step "));
  ASSERT_OK_AND_ASSIGN(const v1::Job before, client_.GetJob(id));
  ASSERT_OK(client_.AwaitDetail(2, "connection refused"));  // looked for in vain
  ASSERT_OK_AND_ASSIGN(const v1::Job after, client_.GetJob(id));
  EXPECT_EQ(after.state(), v1::RUNNING);
  EXPECT_LE(after.progress().global_step(), before.progress().global_step() + 1);
  ASSERT_OK(client_.Cancel(id));
  ASSERT_OK_AND_ASSIGN(const v1::Job job, client_.AwaitEnd(id));
  EXPECT_EQ(job.state(), v1::CANCELLED);
}

TEST_F(RecoveryTest, ARankThatStaysAwayFailsTheJobWithTheCause) {
  v1::JobSpec spec = EndlessWaitingJob();
  spec.set_rejoin_timeout_seconds(2);
  const std::string id = Start(spec);
  ASSERT_OK(client_.AwaitStep(id, 100));
  cluster_.daemon(2).Kill();
  ASSERT_OK_AND_ASSIGN(const v1::Job job, client_.AwaitEnd(id));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), AllOf(HasSubstr(absl::StrCat(cluster_.Name(2), " lost at step ")),
                                 HasSubstr("no step was applied for 2s, rejoin_timeout_seconds")));
  // The daemons that are left are free, and with the third one they take the next job.
  cluster_.Launch(2);
  ASSERT_OK_AND_ASSIGN(const v1::Job next, client_.Run(ToyJob()));
  EXPECT_EQ(next.state(), v1::SUCCEEDED) << next.error();
}

class ShortHeartbeatTest : public RecoveryTest {
 protected:
  ShortHeartbeatTest() : RecoveryTest(3, {"--heartbeat_interval", "0.2", "--heartbeat_timeout", "1"}) {}
};

TEST_F(ShortHeartbeatTest, AFrozenRankIsGivenUpAndWakesAsAMemberOfTheNextGeneration) {
  Undisturbed(WaitingJob());
  const std::string id = Start(WaitingJob());
  ASSERT_OK(client_.AwaitStep(id, 700));
  cluster_.daemon(1).Signal(SIGSTOP);
  ASSERT_OK(AwaitMessage(id, "no heartbeat for"));
  cluster_.daemon(1).Signal(SIGCONT);
  ExpectTheSameResult(id);
}

}  // namespace
}  // namespace lockstep

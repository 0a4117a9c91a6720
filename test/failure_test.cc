// Ranks that die, freeze or leave while three of them train: the job fails at once, every survivor knows the
// culprit, and the daemons take the next job.
#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/cluster.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// A closed connection is noticed at once; the rest is for a busy machine.
constexpr absl::Duration kNoticed = absl::Seconds(5);

ClusterOptions ThreeRanks(const std::vector<std::string>& flags = {}) {
  ClusterOptions options;
  options.world_size = 3;
  options.flags = flags;
  return options;
}

class FailureTest : public ::testing::Test {
 protected:
  explicit FailureTest(const std::vector<std::string>& flags = {}) : cluster_(ThreeRanks(flags)) {}

  // Starts a job that does not end by itself, and waits until it trains.
  std::string StartEndless() {
    absl::StatusOr<std::string> id = client_.Submit(EndlessJob());
    EXPECT_OK(id);
    EXPECT_OK(client_.AwaitStep(*id, 20));
    return id.value_or("");
  }

  v1::Job AwaitFailure(const std::string& id, absl::Duration limit) {
    const absl::Time begin = absl::Now();
    absl::StatusOr<v1::Job> job = client_.AwaitEnd(id);
    EXPECT_OK(job);
    EXPECT_LE(absl::Now() - begin, limit);
    EXPECT_EQ(job->state(), v1::FAILED);
    return *job;
  }

  void ExpectNextJobSucceeds() {
    ASSERT_OK_AND_ASSIGN(const v1::Job job, client_.Run(ToyJob()));
    EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
    EXPECT_EQ(job.summary().world_size(), 3);
  }

  // A job that waits for ranks to join is in this state.
  void AwaitStarting(const std::string& id) {
    EXPECT_OK(client_.AwaitEvent(
        id, [](const v1::JobEvent& event) { return event.state().state() == v1::STARTING; }));
  }

  // Processor time of the ranks over one second of their lives.
  absl::Duration CpuTimeOfASecond(const std::vector<int>& ranks) {
    const auto sum = [&] {
      absl::Duration used;
      for (const int rank : ranks) used += cluster_.daemon(rank).CpuTime();
      return used;
    };
    const absl::Duration before = sum();
    // The second itself is what is measured; nothing is waited for.
    absl::SleepFor(absl::Seconds(1));
    return sum() - before;
  }

  Cluster cluster_;
  JobClient client_ = cluster_.client();
};

TEST_F(FailureTest, A11AKilledRankFailsTheJobAndLeavesNobodySpinning) {
  const std::string id = StartEndless();
  cluster_.daemon(2).Kill();
  const v1::Job job = AwaitFailure(id, kNoticed);
  EXPECT_THAT(job.error(), HasSubstr(absl::StrCat(cluster_.Name(2), " lost")));
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(cluster_.daemon(rank).AwaitLog(cluster_.Name(2))) << cluster_.daemon(rank).Log();
  }
  EXPECT_LE(CpuTimeOfASecond({0, 1}), 2 * absl::Milliseconds(50));

  // The next job waits for the rank, and runs once it is back.
  ASSERT_OK_AND_ASSIGN(const std::string next, client_.Submit(ToyJob()));
  AwaitStarting(next);
  cluster_.Launch(2);
  ASSERT_OK_AND_ASSIGN(const v1::Job second, client_.AwaitEnd(next));
  EXPECT_EQ(second.state(), v1::SUCCEEDED) << second.error();
}

TEST_F(FailureTest, A13ARankThatComesBackAtOnceIsAnotherOne) {
  for (int round = 0; round < 5; ++round) {
    const std::string id = StartEndless();
    cluster_.daemon(1).Kill();
    cluster_.Launch(1);
    EXPECT_THAT(AwaitFailure(id, kNoticed).error(), HasSubstr(cluster_.Name(1)));
  }
  ExpectNextJobSucceeds();
}

TEST_F(FailureTest, A11ARankThatIsToldToStopLeavesInOrder) {
  const std::string id = StartEndless();
  cluster_.daemon(1).Signal(SIGTERM);
  EXPECT_EQ(cluster_.daemon(1).AwaitEnd(), "exit code 0") << cluster_.daemon(1).Log();
  EXPECT_THAT(AwaitFailure(id, kNoticed).error(), AllOf(HasSubstr(cluster_.Name(1)), HasSubstr("SIGTERM")));
  cluster_.Launch(1);
  ExpectNextJobSucceeds();
}

TEST_F(FailureTest, AChiefThatDiesIsMissedAndItsSuccessorIsJoined) {
  StartEndless();
  cluster_.daemon(0).Kill();
  for (const int rank : {1, 2}) {
    EXPECT_TRUE(cluster_.daemon(rank).AwaitLog(absl::StrCat(cluster_.Name(0), " lost")))
        << cluster_.daemon(rank).Log();
  }
  cluster_.Launch(0);
  cluster_.AwaitListening(0);
  client_ = cluster_.client();
  ExpectNextJobSucceeds();
  for (const int rank : {1, 2}) EXPECT_TRUE(cluster_.daemon(rank).running());
}

TEST_F(FailureTest, AChiefThatIsToldToStopTellsItsWorkersAndIsJoinedAgain) {
  StartEndless();
  cluster_.daemon(0).Signal(SIGTERM);
  EXPECT_EQ(cluster_.daemon(0).AwaitEnd(), "exit code 0") << cluster_.daemon(0).Log();
  for (const int rank : {1, 2}) {
    EXPECT_TRUE(cluster_.daemon(rank).AwaitLog("the daemon shuts down (SIGTERM)"))
        << cluster_.daemon(rank).Log();
  }
  cluster_.Launch(0);
  cluster_.AwaitListening(0);
  client_ = cluster_.client();
  ExpectNextJobSucceeds();
}

TEST_F(FailureTest, TwoRanksThatDieAtOnceFailTheJobOnce) {
  const std::string id = StartEndless();
  cluster_.daemon(1).Signal(SIGKILL);
  cluster_.daemon(2).Signal(SIGKILL);
  EXPECT_THAT(AwaitFailure(id, kNoticed).error(),
              AnyOf(HasSubstr(cluster_.Name(1)), HasSubstr(cluster_.Name(2))));
  for (const int rank : {1, 2}) {
    EXPECT_EQ(cluster_.daemon(rank).AwaitEnd(), "signal 9 (Killed)");
    cluster_.Launch(rank);
  }
  ExpectNextJobSucceeds();
}

TEST_F(FailureTest, AJobThatWaitsForARankCanBeCancelled) {
  ASSERT_OK(client_.AwaitComplete());
  cluster_.daemon(2).Kill();
  ASSERT_OK_AND_ASSIGN(const std::string id, client_.Submit(ToyJob()));
  AwaitStarting(id);
  ASSERT_OK(client_.Cancel(id));
  ASSERT_OK_AND_ASSIGN(const v1::Job job, client_.AwaitEnd(id));
  EXPECT_EQ(job.state(), v1::CANCELLED) << job.error();
  cluster_.Launch(2);
  ExpectNextJobSucceeds();
}

constexpr absl::Duration kHeartbeatInterval = absl::Milliseconds(300);
constexpr absl::Duration kHeartbeatTimeout = absl::Milliseconds(1500);

class FrozenRankTest : public FailureTest {
 protected:
  FrozenRankTest() : FailureTest({"--heartbeat_interval", "0.3", "--heartbeat_timeout", "1.5"}) {}
};

TEST_F(FrozenRankTest, AFrozenRankIsLostAfterTheHeartbeatTimeoutAndRejoinsWhenItWakes) {
  const std::string id = StartEndless();
  cluster_.daemon(2).Signal(SIGSTOP);
  const v1::Job job = AwaitFailure(id, kHeartbeatTimeout + kHeartbeatInterval + absl::Seconds(2));
  EXPECT_THAT(job.error(), AllOf(HasSubstr(cluster_.Name(2)), HasSubstr("no heartbeat")));
  EXPECT_LE(CpuTimeOfASecond({0, 1}), 2 * absl::Milliseconds(50));
  cluster_.daemon(2).Signal(SIGCONT);
  ExpectNextJobSucceeds();
}

TEST_F(FrozenRankTest, AWatchThroughAWorkerEndsWithTheChiefAndSaysWhy) {
  const std::string id = StartEndless();
  cluster_.daemon(0).Signal(SIGSTOP);
  const auto never = [](const v1::JobEvent&) { return false; };
  const absl::Status watched = cluster_.client(1).AwaitEvent(id, never).status();
  EXPECT_THAT(watched, StatusIs(absl::StatusCode::kUnavailable,
                                AllOf(HasSubstr("rank 0"), HasSubstr("no heartbeat for"))));
  EXPECT_TRUE(cluster_.daemon(1).AwaitLog(absl::StrCat(cluster_.Name(0), " lost: no heartbeat for")));
  cluster_.daemon(0).Signal(SIGCONT);
}

TEST_F(FrozenRankTest, AFrozenChiefIsMissedByItsWorkersAndFoundAgain) {
  const std::string id = StartEndless();
  cluster_.daemon(0).Signal(SIGSTOP);
  for (const int rank : {1, 2}) {
    EXPECT_TRUE(cluster_.daemon(rank).AwaitLog(absl::StrCat(cluster_.Name(0), " lost")))
        << cluster_.daemon(rank).Log();
  }
  cluster_.daemon(0).Signal(SIGCONT);
  AwaitFailure(id, kNoticed);
  EXPECT_THAT(cluster_.client().GetJob(id)->error(),
              HasSubstr(absl::StrCat(cluster_.Name(0), " stood still for")));
  ExpectNextJobSucceeds();
}

}  // namespace
}  // namespace lockstep

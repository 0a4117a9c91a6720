// The chief against fake workers: links that record what they are sent, a prober that knows the answers, and
// a real runner for rank 0 whose group has one rank.
#include "worker/chief.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/bounded_queue.h"
#include "base/status_matchers.h"
#include "collective/transport/in_process_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Identity Process(int rank, uint64_t incarnation = 1) {
  v1::Identity identity;
  identity.set_rank(rank);
  identity.set_world_size(2);
  identity.set_incarnation(incarnation);
  identity.set_pid(100 + rank);
  return identity;
}

class FakeLink : public MemberLink {
 public:
  void Send(const v1::ChiefMessage& message) override {
    if (message.has_heartbeat()) return;
    EXPECT_TRUE(messages_.Push(message));
  }
  void Close(const absl::Status&) override { messages_.Close(); }

  // The next message but heartbeats.
  v1::ChiefMessage Next() { return messages_.Pop().value_or(v1::ChiefMessage()); }

 private:
  BoundedQueue<v1::ChiefMessage> messages_{100};
};

class FakeProber : public Prober {
 public:
  absl::StatusOr<v1::Identity> Identify(const std::string&) override {
    return absl::UnavailableError("connection refused");
  }
};

class OneRankConnector : public GroupConnector {
 public:
  absl::StatusOr<std::unique_ptr<Transport>> Connect(uint64_t, int64_t, int, absl::Time) override {
    return std::move(MakeInProcessGroup(1)[0]);
  }
  void Cancel(uint64_t, int64_t, const absl::Status&) override {}
};

// Rank 0's part: succeeds at once, or works until it is aborted.
class FakeBody : public JobBody {
 public:
  absl::StatusOr<v1::JobSummary> Run(const v1::StartJob& start, Communicator* communicator,
                                     FitListener* listener) override {
    v1::Progress progress;
    progress.set_global_step(811);
    listener->OnProgress(progress);
    while (start.spec().name() == "works") {
      if (absl::Status status = communicator->Barrier(); !status.ok()) return status;
    }
    v1::JobSummary summary;
    summary.set_steps(811);
    return summary;
  }
  CommunicatorOptions Communication(const v1::StartJob&) const override {
    CommunicatorOptions options;
    options.algorithm = Algorithm::kRing;  // nothing to agree on with ranks that are not there
    options.timeout = absl::Seconds(30);
    return options;
  }
};

class ChiefTest : public ::testing::Test {
 protected:
  explicit ChiefTest(absl::Duration join_timeout = absl::Seconds(60)) {
    ChiefOptions options;
    options.join_timeout = join_timeout;
    options.wind_down = absl::Seconds(30);
    chief_ = std::make_unique<Chief>(options, std::vector<std::string>{"c:1", "w:2"}, Process(0), &jobs_,
                                     &prober_);
    runner_ =
        std::make_unique<JobRunner>(JobRunner::Options(), &connector_, &body_,
                                    [this](const v1::JobOutcome& outcome, const v1::JobSummary& summary) {
                                      chief_->OnLocalOutcome(outcome, summary);
                                    });
    chief_->Start(runner_.get());
  }
  ~ChiefTest() override {
    chief_->Stop("the test is over");
    runner_.reset();
  }

  void Join(const v1::Identity& identity = Process(1)) {
    link_ = std::make_shared<FakeLink>();
    ASSERT_OK(chief_->OnHello(identity, link_));
    EXPECT_TRUE(link_->Next().has_welcome());
  }
  std::string Submit(const std::string& name, v1::JobSpec::OnFailure on_failure = v1::JobSpec::FAIL) {
    v1::JobSpec spec;
    spec.set_name(name);
    spec.set_on_failure(on_failure);
    return *jobs_.Add(spec, "");
  }
  // From the worker's rank.
  void Report(const v1::StartJob& start, const absl::Status& status, uint64_t incarnation = 1) {
    v1::WorkerMessage message;
    message.mutable_outcome()->set_job_id(start.job_id());
    message.mutable_outcome()->set_generation(start.generation());
    message.mutable_outcome()->set_rank(1);
    message.mutable_outcome()->set_code(static_cast<int>(status.code()));
    message.mutable_outcome()->set_message(std::string(status.message()));
    chief_->OnMessage(Process(1, incarnation), message);
  }
  v1::Job AwaitEnd(const std::string& id) {
    int64_t sequence = 0, progress = 0;
    while (true) {
      const auto events = *jobs_.WaitForEvents(id, sequence, &progress, absl::InfiniteFuture());
      if (events.ended) return *jobs_.Get(id);
      for (const v1::JobEvent& event : events.events)
        if (!event.has_progress()) sequence = event.sequence();
    }
  }

  JobTable jobs_;
  FakeProber prober_;
  OneRankConnector connector_;
  FakeBody body_;
  std::unique_ptr<Chief> chief_;
  std::unique_ptr<JobRunner> runner_;
  std::shared_ptr<FakeLink> link_;
};

TEST_F(ChiefTest, AJobSucceedsWhenEveryRankReportsSuccess) {
  Join();
  const std::string id = Submit("quick");
  const v1::StartJob start = link_->Next().start();
  EXPECT_EQ(start.job_id(), id);
  Report(start, absl::OkStatus());
  const v1::Job job = AwaitEnd(id);
  EXPECT_EQ(job.state(), v1::SUCCEEDED);
  EXPECT_EQ(job.summary().steps(), 811);
}

TEST_F(ChiefTest, AJobWaitsForTheRanksToJoin) {
  const std::string id = Submit("quick");
  Join();
  Report(link_->Next().start(), absl::OkStatus());
  EXPECT_EQ(AwaitEnd(id).state(), v1::SUCCEEDED);
}

TEST_F(ChiefTest, TheFirstFailureIsTheCauseAndEndsTheJobOnAllRanks) {
  Join();
  const std::string id = Submit("works");
  const v1::StartJob start = link_->Next().start();
  Report(start, absl::InvalidArgumentError("file t.csv line 9 column x: nan"));
  const v1::EndJob end = link_->Next().end();
  EXPECT_EQ(end.state(), v1::FAILED);
  const v1::Job job = AwaitEnd(id);
  EXPECT_EQ(job.error(), "rank 1 (w:2): file t.csv line 9 column x: nan");
}

TEST_F(ChiefTest, ALostRankFailsTheJobAndNamesRankAndStep) {
  Join();
  const std::string id = Submit("works");
  link_->Next();
  // The step is known once rank 0 has reported progress.
  int64_t progress = 0;
  while (jobs_.LastStep(id) == 0) ASSERT_OK(jobs_.WaitForEvents(id, 100, &progress, absl::InfiniteFuture()));
  chief_->OnDisconnect(Process(1), "connection closed");
  const v1::Job job = AwaitEnd(id);
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_EQ(job.error(), "rank 1 (w:2) lost at step 812: connection closed");
}

TEST_F(ChiefTest, ASuccessorOfALostRankIsNotWaitedForInTheLostJob) {
  Join();
  const std::string id = Submit("works");
  link_->Next();
  const absl::Time begin = absl::Now();
  chief_->OnDisconnect(Process(1), "connection closed");
  ASSERT_OK(chief_->OnHello(Process(1, /*incarnation=*/2), std::make_shared<FakeLink>()));
  EXPECT_EQ(AwaitEnd(id).state(), v1::FAILED);
  // Neither the winding-down time nor the successor's heartbeat has ended the wait.
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST_F(ChiefTest, ALossThatANeighbourNoticesFirstReadsLikeOneThatTheChiefNotices) {
  Join();
  const std::string id = Submit("works");
  const v1::StartJob start = link_->Next().start();
  v1::WorkerMessage message;
  message.mutable_outcome()->set_job_id(id);
  message.mutable_outcome()->set_generation(start.generation());
  message.mutable_outcome()->set_rank(1);
  message.mutable_outcome()->set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  message.mutable_outcome()->set_message("rank 0 (c:1) lost: Socket closed (all-reduce 3)");
  message.mutable_outcome()->set_has_lost_rank(true);
  message.mutable_outcome()->set_lost_rank(0);
  chief_->OnMessage(Process(1), message);
  EXPECT_THAT(AwaitEnd(id).error(), AllOf(HasSubstr("rank 0 (c:1) lost at step "),
                                          HasSubstr(": Socket closed (all-reduce 3), noticed by rank 1")));
}

TEST_F(ChiefTest, ARankThatLeavesAfterItsSuccessDoesNotFailTheJob) {
  Join();
  const std::string id = Submit("quick");
  Report(link_->Next().start(), absl::OkStatus());
  chief_->OnDisconnect(Process(1), "connection closed");
  EXPECT_EQ(AwaitEnd(id).state(), v1::SUCCEEDED);
}

TEST_F(ChiefTest, ACancelledJobEndsCancelledOnAllRanks) {
  Join();
  const std::string id = Submit("works");
  const v1::StartJob start = link_->Next().start();
  ASSERT_OK(jobs_.Cancel(id));
  EXPECT_EQ(link_->Next().end().state(), v1::CANCELLED);
  Report(start, absl::AbortedError("cancelled"));
  EXPECT_EQ(AwaitEnd(id).state(), v1::CANCELLED);
}

TEST_F(ChiefTest, TheNextJobRunsAfterAFailedOne) {
  Join();
  const std::string first = Submit("works"), second = Submit("quick");
  Report(link_->Next().start(), absl::DataLossError("a bad row"));
  EXPECT_TRUE(link_->Next().has_end());
  Report(link_->Next().start(), absl::OkStatus());
  EXPECT_EQ(AwaitEnd(first).state(), v1::FAILED);
  EXPECT_EQ(AwaitEnd(second).state(), v1::SUCCEEDED);
}

TEST_F(ChiefTest, OutcomesOfAnOlderGenerationAreIgnored) {
  Join();
  const std::string id = Submit("quick");
  v1::StartJob start = link_->Next().start();
  start.set_generation(start.generation() - 1);
  Report(start, absl::DataLossError("of an older life"));
  start.set_generation(start.generation() + 1);
  Report(start, absl::OkStatus());
  EXPECT_EQ(AwaitEnd(id).state(), v1::SUCCEEDED);
}

TEST_F(ChiefTest, StoppingFailsARunningJobWithTheReason) {
  Join();
  const std::string id = Submit("works");
  const v1::StartJob start = link_->Next().start();
  chief_->OnDisconnect(Process(1), "connection closed");
  chief_->Stop("the daemon shuts down (SIGTERM)");
  EXPECT_EQ(jobs_.Get(id)->state(), v1::FAILED);
}

TEST_F(ChiefTest, TheClusterIsDescribedByRank) {
  v1::Cluster cluster = chief_->Describe({"chief:0", "worker:0"});
  EXPECT_EQ(cluster.members(0).state(), "joined");
  EXPECT_EQ(cluster.members(1).state(), "missing");
  Join();
  cluster = chief_->Describe({"chief:0", "worker:0"});
  EXPECT_EQ(cluster.members(1).state(), "joined");
  EXPECT_EQ(cluster.members(1).pid(), 101);
}

TEST_F(ChiefTest, AJobThatWaitsGoesOnWithTheSuccessorOfALostRank) {
  Join();
  const std::string id = Submit("works", v1::JobSpec::WAIT);
  const v1::StartJob first = link_->Next().start();
  EXPECT_EQ(first.generation(), 1);
  EXPECT_THAT(first.ranks(), ElementsAre(0, 1));
  chief_->OnDisconnect(Process(1), "connection closed");
  Join(Process(1, /*incarnation=*/2));
  const v1::StartJob second = link_->Next().start();
  EXPECT_EQ(second.job_id(), id);
  EXPECT_EQ(second.generation(), 2);
  EXPECT_EQ(jobs_.Get(id)->state(), v1::RUNNING);
  // What its first life says does not count any more.
  Report(first, absl::DataLossError("of an older life"), /*incarnation=*/1);
  Report(second, absl::DataLossError("a bad row"), /*incarnation=*/2);
  EXPECT_EQ(link_->Next().end().state(), v1::FAILED);
  EXPECT_EQ(AwaitEnd(id).error(), "rank 1 (w:2): a bad row");
}

TEST_F(ChiefTest, ARankThatKeptTheStateIsToldTheEndOfAGenerationAndStaysInTheJob) {
  Join();
  const std::string id = Submit("works", v1::JobSpec::WAIT);
  const v1::StartJob first = link_->Next().start();
  Report(first, absl::UnavailableError("rank 0 (c:1) lost: a cable was cut"));
  const v1::EndJob end = link_->Next().end();
  EXPECT_EQ(end.state(), v1::RUNNING);
  EXPECT_THAT(end.error(), HasSubstr("a cable was cut"));
  EXPECT_EQ(link_->Next().start().generation(), 2);
  ASSERT_OK(jobs_.Cancel(id));
  EXPECT_EQ(link_->Next().end().state(), v1::CANCELLED);
  EXPECT_EQ(AwaitEnd(id).state(), v1::CANCELLED);
}

TEST_F(ChiefTest, ARankThatHoldsAJobThatHasEndedIsToldSo) {
  Join();
  const std::string id = Submit("quick");
  Report(link_->Next().start(), absl::OkStatus());
  EXPECT_EQ(AwaitEnd(id).state(), v1::SUCCEEDED);
  v1::Identity holder = Process(1);
  holder.set_job_id(id);
  holder.set_generation(1);
  Join(holder);
  EXPECT_EQ(link_->Next().end().state(), v1::SUCCEEDED);
  holder.set_job_id("job-of-another-life");
  Join(holder);
  const v1::EndJob end = link_->Next().end();
  EXPECT_EQ(end.state(), v1::FAILED);
  EXPECT_THAT(end.error(), HasSubstr("knows nothing of the job job-of-another-life"));
}

TEST_F(ChiefTest, OfTwoProcessesWithOneRankTheOlderOneIsCutOff) {
  Join();
  const std::shared_ptr<FakeLink> older = link_;
  Join(Process(1, /*incarnation=*/2));
  EXPECT_FALSE(older->Next().has_welcome()) << "its stream is closed";
  EXPECT_THAT(chief_->OnHello(Process(1), std::make_shared<FakeLink>()),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("superseded")));
}

class ShortJoinChiefTest : public ChiefTest {
 protected:
  ShortJoinChiefTest() : ChiefTest(absl::Milliseconds(300)) {}
};

TEST_F(ShortJoinChiefTest, A06ARankThatNeverJoinsIsNamedWithTheReason) {
  const v1::Job job = AwaitEnd(Submit("quick"));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), AllOf(HasSubstr("rank 1 (w:2) did not join"), HasSubstr("--join_timeout")));
}

}  // namespace
}  // namespace lockstep

#include "worker/job_runner.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/bounded_queue.h"
#include "base/status_matchers.h"
#include "collective/peer_lost.h"
#include "collective/transport/in_process_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// Groups of one rank; a Connect can be made to wait for its Cancel.
class FakeConnector : public GroupConnector {
 public:
  absl::StatusOr<std::unique_ptr<Transport>> Connect(uint64_t, int64_t, int, absl::Time deadline) override {
    MutexLock lock(&mutex_);
    if (blocked_) {
      connecting_ = true;
      mutex_.AwaitWithDeadline(Condition(&cancelled_), deadline);
      return why_;
    }
    return std::move(MakeInProcessGroup(1)[0]);
  }
  void Cancel(uint64_t, int64_t, const absl::Status& why) override {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    why_ = why;
  }
  void Block() {
    MutexLock lock(&mutex_);
    blocked_ = true;
  }
  void AwaitConnecting() {
    MutexLock lock(&mutex_);
    mutex_.Await(Condition(&connecting_));
  }

 private:
  Mutex mutex_;
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
  bool connecting_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mutex_) = absl::DeadlineExceededError("nobody came");
};

// Succeeds, fails, or works until the communicator is aborted, as the job's id says.
class FakeBody : public JobBody {
 public:
  absl::StatusOr<v1::JobSummary> Run(const v1::StartJob& start, Communicator* communicator,
                                     FitListener*) override {
    if (!started_.Push(start.job_id())) return absl::CancelledError("closed");
    if (start.job_id() == "fails") return absl::DataLossError("a bad row");
    if (start.job_id() == "loses") return MakePeerLostStatus(2, "w2:1", "connection closed");
    if (start.job_id() == "works") {
      while (true) {
        if (absl::Status status = communicator->Barrier(); !status.ok()) return status;
      }
    }
    v1::JobSummary summary;
    summary.set_steps(3);
    return summary;
  }
  CommunicatorOptions Communication(const v1::StartJob&) const override {
    CommunicatorOptions options;
    options.algorithm = Algorithm::kRing;  // nothing to agree on with ranks that are not there
    options.timeout = absl::Seconds(30);
    return options;
  }

  std::string AwaitStart() { return started_.Pop().value_or("none"); }

 private:
  BoundedQueue<std::string> started_{100};
};

struct Outcome {
  v1::JobOutcome outcome;
  v1::JobSummary summary;
};

class JobRunnerTest : public ::testing::Test {
 protected:
  JobRunnerTest() {
    JobRunner::Options options;
    options.rank = 1;
    options.hold = absl::Seconds(30);
    runner_ = std::make_unique<JobRunner>(
        options, &connector_, &body_, [this](const v1::JobOutcome& outcome, const v1::JobSummary& summary) {
          EXPECT_TRUE(outcomes_.Push({outcome, summary}));
        });
  }

  static v1::StartJob Job(const std::string& id) {
    v1::StartJob start;
    start.set_job_id(id);
    start.set_generation(1);
    return start;
  }
  static v1::EndJob End(const std::string& id, const std::string& error) {
    v1::EndJob end;
    end.set_job_id(id);
    end.set_generation(1);
    end.set_error(error);
    return end;
  }
  void Start(const std::string& id) { runner_->Start(Job(id), std::make_shared<FitListener>()); }
  Outcome AwaitOutcome() { return *outcomes_.Pop(); }

  BoundedQueue<Outcome> outcomes_{100};
  FakeConnector connector_;
  FakeBody body_;
  std::unique_ptr<JobRunner> runner_;
};

TEST_F(JobRunnerTest, ReportsSuccessWithTheSummary) {
  Start("succeeds");
  const Outcome outcome = AwaitOutcome();
  EXPECT_EQ(outcome.outcome.code(), 0);
  EXPECT_EQ(outcome.outcome.rank(), 1);
  EXPECT_EQ(outcome.summary.steps(), 3);
}

TEST_F(JobRunnerTest, RunsJobAfterJob) {
  for (const std::string id : {"a", "b", "c"}) {
    Start(id);
    EXPECT_EQ(AwaitOutcome().outcome.job_id(), id);
  }
}

TEST_F(JobRunnerTest, ReportsTheErrorOfTheBody) {
  Start("fails");
  const Outcome outcome = AwaitOutcome();
  EXPECT_EQ(static_cast<absl::StatusCode>(outcome.outcome.code()), absl::StatusCode::kDataLoss);
  EXPECT_EQ(outcome.outcome.message(), "a bad row");
  EXPECT_FALSE(outcome.outcome.has_lost_rank());
}

TEST_F(JobRunnerTest, ReportsWhichRankWasLost) {
  Start("loses");
  const Outcome outcome = AwaitOutcome();
  EXPECT_TRUE(outcome.outcome.has_lost_rank());
  EXPECT_EQ(outcome.outcome.lost_rank(), 2);
}

TEST_F(JobRunnerTest, EndStopsAJobThatRuns) {
  Start("works");
  EXPECT_EQ(body_.AwaitStart(), "works");
  runner_->End(End("works", "rank 2 lost"));
  EXPECT_THAT(AwaitOutcome().outcome.message(), HasSubstr("rank 2 lost"));
}

TEST_F(JobRunnerTest, EndOfAnotherGenerationChangesNothing) {
  Start("works");
  EXPECT_EQ(body_.AwaitStart(), "works");
  v1::EndJob stale = End("works", "of an older life");
  stale.set_generation(0);
  runner_->End(stale);
  runner_->End(End("works", "the real one"));
  EXPECT_THAT(AwaitOutcome().outcome.message(), HasSubstr("the real one"));
}

TEST_F(JobRunnerTest, EndStopsAJobThatStillConnects) {
  connector_.Block();
  Start("works");
  connector_.AwaitConnecting();
  runner_->End(End("works", "rank 2 lost"));
  EXPECT_THAT(AwaitOutcome().outcome.message(), HasSubstr("rank 2 lost"));
}

TEST_F(JobRunnerTest, AJobThatIsEndedBeforeItBeginsIsReportedToo) {
  // The failed job before it holds the runner.
  Start("fails");
  EXPECT_NE(AwaitOutcome().outcome.code(), 0);
  runner_->EndAll(absl::OkStatus());
  connector_.Block();
  Start("works");
  runner_->End(End("works", "rank 2 lost"));
  EXPECT_THAT(AwaitOutcome().outcome.message(), HasSubstr("rank 2 lost"));
}

TEST_F(JobRunnerTest, ANewJobEndsTheOneBefore) {
  Start("works");
  EXPECT_EQ(body_.AwaitStart(), "works");
  Start("succeeds");
  EXPECT_THAT(AwaitOutcome().outcome.message(), HasSubstr("a newer job has started"));
  EXPECT_EQ(AwaitOutcome().outcome.job_id(), "succeeds");
}

TEST_F(JobRunnerTest, DestructionEndsAJobThatRunsAndOneThatHolds) {
  Start("works");
  EXPECT_EQ(body_.AwaitStart(), "works");
  runner_.reset();
  EXPECT_THAT(AwaitOutcome().outcome.message(), HasSubstr("shuts down"));
}

TEST_F(JobRunnerTest, AFailedJobHoldsOnlyUntilItsEnd) {
  Start("fails");
  EXPECT_NE(AwaitOutcome().outcome.code(), 0);
  runner_->End(End("fails", "a bad row"));
  Start("succeeds");
  EXPECT_EQ(AwaitOutcome().outcome.code(), 0);
}

}  // namespace
}  // namespace lockstep

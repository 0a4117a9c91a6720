#include "tools/job_follower.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trainer.grpc.pb.h"
#include "tools/trainer_client.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::JobEvent State(int64_t sequence, v1::JobState state, const std::string& error = "") {
  v1::JobEvent event;
  event.set_sequence(sequence);
  event.mutable_state()->set_state(state);
  event.mutable_state()->set_error(error);
  return event;
}

v1::JobEvent Progress(int64_t sequence) {
  v1::JobEvent event;
  event.set_sequence(sequence);
  event.mutable_progress()->set_step(1);
  return event;
}

v1::JobEvent Summary(int64_t sequence, int64_t steps) {
  v1::JobEvent event;
  event.set_sequence(sequence);
  event.mutable_summary()->set_steps(steps);
  return event;
}

// Answers each Watch with the next script: events, then a status.
class ScriptedService : public v1::Trainer::Service {
 public:
  struct Script {
    std::vector<v1::JobEvent> events;
    grpc::Status status = grpc::Status::OK;
    bool waits_for_cancel = false;  // after the events, until the client gives up
  };

  // Used from the first on.
  void Play(std::vector<Script> scripts) {
    MutexLock lock(&mutex_);
    scripts_ = std::move(scripts);
  }
  void AnswerGetJob(const v1::Job& job, const grpc::Status& status) {
    MutexLock lock(&mutex_);
    job_ = job;
    get_job_status_ = status;
  }

  std::atomic<int> cancels{0};

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::JobEvent>* writer) override {
    const Script script = NextScript(request->after_sequence());
    for (const v1::JobEvent& event : script.events) writer->Write(event);
    while (script.waits_for_cancel && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return script.status;
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest*, v1::Job* response) override {
    MutexLock lock(&mutex_);
    *response = job_;
    return get_job_status_;
  }

  grpc::Status Cancel(grpc::ServerContext*, const v1::CancelRequest*, v1::Job*) override {
    ++cancels;
    return grpc::Status::OK;
  }

  std::vector<int64_t> AskedAfter() {
    MutexLock lock(&mutex_);
    return asked_after_;
  }

 private:
  Script NextScript(int64_t after_sequence) {
    MutexLock lock(&mutex_);
    asked_after_.push_back(after_sequence);
    return scripts_.at(asked_after_.size() - 1);
  }

  Mutex mutex_;
  std::vector<Script> scripts_ ABSL_GUARDED_BY(mutex_);
  v1::Job job_ ABSL_GUARDED_BY(mutex_);
  grpc::Status get_job_status_ ABSL_GUARDED_BY(mutex_) = grpc::Status::OK;
  std::vector<int64_t> asked_after_ ABSL_GUARDED_BY(mutex_);
};

const grpc::Status kUnavailable(grpc::StatusCode::UNAVAILABLE, "the daemon shuts down");

class JobFollowerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    ASSERT_OK_AND_ASSIGN(client_, TrainerClient::Create(absl::StrCat("127.0.0.1:", port), absl::Seconds(30)));
  }

  // Follows with at most one attempt to reconnect, and notes the sequence numbers of what came.
  absl::Status Follow(std::function<void(JobFollower*)> on_event = [](JobFollower*) {}) {
    JobFollower::Options options;
    options.reconnect_timeout = absl::ZeroDuration();
    options.find_cause = [this] { return cause_; };
    follower_ = std::make_unique<JobFollower>(options);
    return follower_->Follow(client_.get(), "job-1", [&](const v1::JobEvent& event) {
      seen_.push_back(event.sequence());
      on_event(follower_.get());
    });
  }

  ScriptedService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<TrainerClient> client_;
  std::unique_ptr<JobFollower> follower_;
  std::vector<int64_t> seen_;
  absl::Status cause_;
};

TEST_F(JobFollowerTest, KnowsHowTheJobEnded) {
  service_.Play({{{State(1, v1::RUNNING), Summary(2, 96), State(3, v1::FAILED, "rank 1 was lost")}}});
  ASSERT_OK(Follow());
  EXPECT_THAT(seen_, ElementsAre(1, 2, 3));
  EXPECT_EQ(follower_->summary().state(), v1::FAILED);
  EXPECT_EQ(follower_->summary().error(), "rank 1 was lost");
  EXPECT_EQ(follower_->summary().steps(), 96);
}

TEST_F(JobFollowerTest, GoesOnAfterTheLastEventWhenTheConnectionComesBack) {
  service_.Play({{{State(1, v1::STARTING), State(2, v1::RUNNING), Progress(2)}, kUnavailable},
                 {{}, kUnavailable},
                 {{Summary(3, 96), State(4, v1::SUCCEEDED)}}});
  ASSERT_OK(Follow());
  EXPECT_THAT(service_.AskedAfter(), ElementsAre(0, 2, 2));
  EXPECT_THAT(seen_, ElementsAre(1, 2, 2, 3, 4));
}

TEST_F(JobFollowerTest, GivesUpWhenTheClusterDoesNotComeBack) {
  service_.Play({{{State(1, v1::RUNNING)}, kUnavailable}});
  service_.AnswerGetJob({}, kUnavailable);
  EXPECT_THAT(Follow(), StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("the daemon shuts down"),
                                                                       HasSubstr("lockstep watch job-1"))));
  EXPECT_EQ(follower_->summary().state(), v1::RUNNING);
}

TEST_F(JobFollowerTest, SaysThatARestartedClusterForgotTheJob) {
  service_.Play({{{State(1, v1::RUNNING)}, kUnavailable}});
  service_.AnswerGetJob({}, grpc::Status(grpc::StatusCode::NOT_FOUND, "no such job"));
  EXPECT_THAT(Follow(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no longer knows job job-1")));
}

TEST_F(JobFollowerTest, TellsTheCauseOfABrokenConnectionThatIsKnown) {
  service_.Play({{{State(1, v1::RUNNING)}, kUnavailable}});
  cause_ = absl::UnavailableError("the daemon of rank 0 ended");
  EXPECT_THAT(Follow(), StatusIs(absl::StatusCode::kUnavailable, "the daemon of rank 0 ended"));
}

TEST_F(JobFollowerTest, AsksForTheEndThatTheStreamDidNotShow) {
  service_.Play({{{State(1, v1::RUNNING)}}});
  v1::Job job;
  job.set_state(v1::CANCELLED);
  job.mutable_summary()->set_steps(7);
  service_.AnswerGetJob(job, grpc::Status::OK);
  ASSERT_OK(Follow());
  EXPECT_EQ(follower_->summary().state(), v1::CANCELLED);
  EXPECT_EQ(follower_->summary().steps(), 7);
  EXPECT_THAT(seen_, ElementsAre(1, 0, 0));
}

TEST_F(JobFollowerTest, OtherErrorsEndTheWatchAtOnce) {
  service_.Play({{{}, grpc::Status(grpc::StatusCode::NOT_FOUND, "no such job")}});
  EXPECT_THAT(Follow(), StatusIs(absl::StatusCode::kNotFound, "no such job"));
}

TEST_F(JobFollowerTest, CancelsTheJobOnceAndFollowsItToItsEnd) {
  service_.Play({{{State(1, v1::RUNNING)}, grpc::Status::CANCELLED, /*waits_for_cancel=*/true},
                 {{State(2, v1::CANCELLED, "cancelled by the user")}}});
  ASSERT_OK(Follow([](JobFollower* follower) { follower->CancelJob(); }));
  EXPECT_EQ(service_.cancels, 1);
  EXPECT_THAT(service_.AskedAfter(), ElementsAre(0, 1));
  EXPECT_EQ(follower_->summary().state(), v1::CANCELLED);
}

}  // namespace
}  // namespace lockstep

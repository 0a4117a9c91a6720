#include "collective/transport/grpc_queue.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

// Notes which thread handles what. An event's tag is the completion that it finishes.
class Recorder : public GrpcQueue::Handler {
 public:
  void OnEvent(void* tag, bool) override {
    {
      MutexLock lock(&mutex_);
      handled_by_.push_back(std::this_thread::get_id());
    }
    static_cast<Completion*>(tag)->Finish(absl::OkStatus());
  }
  absl::Time OnTime() override {
    MutexLock lock(&mutex_);
    ++times_;
    return absl::InfiniteFuture();
  }

  std::thread::id last_handled_by() {
    MutexLock lock(&mutex_);
    return handled_by_.back();
  }
  bool AwaitTime() {
    MutexLock lock(&mutex_);
    return mutex_.AwaitWithDeadline(Condition(this, &Recorder::TimeHasCome), absl::Now() + kPatience);
  }

 private:
  bool TimeHasCome() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return times_ > 0; }

  Mutex mutex_;
  std::vector<std::thread::id> handled_by_ ABSL_GUARDED_BY(mutex_);
  int times_ ABSL_GUARDED_BY(mutex_) = 0;
};

class GrpcQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials());
    queue_ = std::make_unique<GrpcQueue>(builder.AddCompletionQueue(), &recorder_,
                                         GrpcQueue::Options{absl::Microseconds(100), absl::Milliseconds(2)});
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    queue_->Start();
  }
  void TearDown() override {
    server_->Shutdown();
    queue_->Shutdown();
  }

  // An event of the queue that finishes `completion`.
  void Trigger(grpc::Alarm* alarm, Completion* completion) {
    alarm->Set(queue_->get(), std::chrono::system_clock::now(), completion);
  }

  Recorder recorder_;
  std::unique_ptr<GrpcQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(GrpcQueueTest, EventsAreHandledWhileNobodyWaits) {
  grpc::Alarm alarm;
  Completion completion;
  Trigger(&alarm, &completion);
  EXPECT_TRUE(completion.Wait(absl::Now() + kPatience));
  EXPECT_NE(recorder_.last_handled_by(), std::this_thread::get_id());
}

TEST_F(GrpcQueueTest, AThreadThatWaitsHandlesTheEventsItself) {
  // The queue's own thread may be in the queue already, and handle the first one.
  std::thread::id handled_by;
  for (int i = 0; i < 1000 && handled_by != std::this_thread::get_id(); ++i) {
    grpc::Alarm alarm;
    Completion completion;
    Trigger(&alarm, &completion);
    ASSERT_TRUE(queue_->DriveUntil(&completion, absl::Now() + kPatience, Waiting::kAsleep));
    handled_by = recorder_.last_handled_by();
  }
  EXPECT_EQ(handled_by, std::this_thread::get_id());
}

TEST_F(GrpcQueueTest, EventsAreHandledAgainAfterTheLastWait) {
  for (int i = 0; i < 3; ++i) {
    grpc::Alarm first, second;
    Completion driven, left_alone;
    Trigger(&first, &driven);
    ASSERT_TRUE(queue_->DriveUntil(&driven, absl::Now() + kPatience, Waiting::kAsleep));
    Trigger(&second, &left_alone);
    ASSERT_TRUE(left_alone.Wait(absl::Now() + kPatience));
  }
}

TEST_F(GrpcQueueTest, AWaitEndsAtItsDeadline) {
  Completion never;
  EXPECT_FALSE(queue_->DriveUntil(&never, absl::Now() + absl::Milliseconds(20), Waiting::kAsleep));
  EXPECT_FALSE(queue_->DriveUntil(&never, absl::InfinitePast(), Waiting::kAsleep));
}

TEST_F(GrpcQueueTest, AWaitThatPollsEndsWithTheEventOrAtItsDeadline) {
  for (int i = 0; i < 100; ++i) {
    grpc::Alarm alarm;
    Completion completion;
    Trigger(&alarm, &completion);
    ASSERT_TRUE(queue_->DriveUntil(&completion, absl::Now() + kPatience, Waiting::kPolling));
  }
  Completion never;
  EXPECT_FALSE(queue_->DriveUntil(&never, absl::Now() + absl::Milliseconds(20), Waiting::kPolling));
}

TEST_F(GrpcQueueTest, AWaitEndsWhenAnotherThreadFinishesWhatItWaitsFor) {
  Completion completion;
  std::thread other([&completion] { completion.Finish(absl::OkStatus()); });
  EXPECT_TRUE(queue_->DriveUntil(&completion, absl::Now() + kPatience, Waiting::kAsleep));
  other.join();
}

TEST_F(GrpcQueueTest, TheTimeIsCalledWithoutAnyEvent) {
  queue_->CallAt(absl::Now() + absl::Milliseconds(1));
  EXPECT_TRUE(recorder_.AwaitTime());
}

}  // namespace
}  // namespace lockstep

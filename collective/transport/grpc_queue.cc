#include "collective/transport/grpc_queue.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/time/clock.h"

namespace lockstep {
namespace {

// A driver looks at its completion at least this often: a completion may be done by an event of another
// thread (an Abort, a slice that gRPC lets go of elsewhere).
constexpr absl::Duration kDriveSlice = absl::Milliseconds(5);

// A deadline that lies in the past.
constexpr absl::Time kAtOnce = absl::UnixEpoch();

}  // namespace

GrpcQueue::GrpcQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, Handler* handler,
                     const Options& options)
    : queue_(std::move(queue)), handler_(handler), options_(options) {}

GrpcQueue::~GrpcQueue() { Shutdown(); }

void GrpcQueue::Start() {
  thread_ = std::thread([this] { RunThread(); });
}

void GrpcQueue::Shutdown() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(&mutex_);
    shut_down_ = true;
  }
  queue_->Shutdown();
  thread_.join();
}

bool GrpcQueue::DriveUntil(Completion* completion, absl::Time deadline, Waiting waiting) {
  if (completion->done()) return true;
  {
    MutexLock lock(&mutex_);
    ++num_drivers_;
  }
  absl::Time now = absl::Now();
  const absl::Duration poll_time = waiting == Waiting::kPolling ? options_.poll_time : absl::ZeroDuration();
  absl::Time poll_end = now + poll_time;
  bool done = false;
  while (!(done = completion->done()) && now < deadline) {
    const bool poll = now < poll_end;
    const Outcome outcome = Next(poll ? kAtOnce : std::min(deadline, now + kDriveSlice));
    if (outcome == Outcome::kShutDown) break;
    now = absl::Now();
    if (outcome == Outcome::kEvent) {
      poll_end = now + poll_time;
    } else if (poll) {
      sched_yield();  // there may be more ranks than processors
    }
  }
  MutexLock lock(&mutex_);
  --num_drivers_;
  lease_end_ = now + options_.lease;
  return done;
}

void GrpcQueue::CallAt(absl::Time time) {
  {
    MutexLock lock(&mutex_);
    if (time >= next_time_) return;
    next_time_ = time;
  }
  // A thread may be waiting for a later time.
  Wake();
}

void GrpcQueue::RunThread() {
  AwaitTurn();
  while (Next(absl::InfiniteFuture()) != Outcome::kShutDown) {
    // What it has just handled may be what a driver waits for.
    WakeDrivers();
    AwaitTurn();
  }
}

bool GrpcQueue::MayTakeTurn() const { return shut_down_ || (num_drivers_ == 0 && lease_end_ <= absl::Now()); }

void GrpcQueue::AwaitTurn() {
  MutexLock lock(&mutex_);
  while (!MayTakeTurn()) {
    // Again after a while, rather than be told by every driver that it has finished.
    mutex_.AwaitWithDeadline(Condition(&shut_down_), std::max(lease_end_, absl::Now() + options_.lease));
  }
}

GrpcQueue::Outcome GrpcQueue::Next(absl::Time deadline) {
  {
    MutexLock lock(&mutex_);
    deadline = std::min(deadline, next_time_);
  }
  void* tag = nullptr;
  bool ok = false;
  const auto next = queue_->AsyncNext(&tag, &ok, absl::ToChronoTime(deadline));
  switch (next) {
    case grpc::CompletionQueue::SHUTDOWN:
      return Outcome::kShutDown;
    case grpc::CompletionQueue::TIMEOUT:
      break;
    case grpc::CompletionQueue::GOT_EVENT:
      if (tag == &wake_) {
        MutexLock lock(&mutex_);
        wake_pending_ = false;
      } else {
        handler_->OnEvent(tag, ok);
      }
  }
  CallIfTime();
  return next == grpc::CompletionQueue::GOT_EVENT ? Outcome::kEvent : Outcome::kNoEvent;
}

void GrpcQueue::CallIfTime() {
  {
    MutexLock lock(&mutex_);
    if (next_time_ > absl::Now()) return;
    next_time_ = absl::InfiniteFuture();
  }
  const absl::Time next = handler_->OnTime();
  MutexLock lock(&mutex_);
  next_time_ = std::min(next_time_, next);
}

void GrpcQueue::WakeDrivers() {
  {
    MutexLock lock(&mutex_);
    if (num_drivers_ == 0) return;
  }
  Wake();
}

void GrpcQueue::Wake() {
  MutexLock lock(&mutex_);
  if (wake_pending_ || shut_down_) return;
  wake_pending_ = true;
  wake_.Set(queue_.get(), std::chrono::system_clock::now(), &wake_);
}

}  // namespace lockstep

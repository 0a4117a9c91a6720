#include "tools/job_follower.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr absl::Duration kConnectAgain = absl::Milliseconds(200);

}  // namespace

JobFollower::JobFollower(Options options) : options_(std::move(options)) {}

absl::Status JobFollower::Follow(TrainerClient* client, const std::string& job_id,
                                 const EventCallback& on_event) {
  client_ = client;
  while (true) {
    const absl::Status status = ReadEvents(job_id, on_event);
    if (Ended()) return absl::OkStatus();
    if (TakeCancel()) {
      RETURN_IF_ERROR(client_->Cancel(job_id).status());
      continue;
    }
    if (status.ok()) return FetchEnd(job_id, on_event);
    if (!absl::IsUnavailable(status)) return status;
    RETURN_IF_ERROR(AwaitCluster(job_id, status));
  }
}

absl::Status JobFollower::ReadEvents(const std::string& job_id, const EventCallback& on_event) {
  const std::unique_ptr<WatchStream> stream = client_->Watch(job_id, last_sequence_);
  {
    MutexLock lock(&mutex_);
    stream_ = stream.get();
    if (cancel_requested_ && !cancel_sent_) stream->Cancel();
  }
  v1::JobEvent event;
  while (stream->Next(&event)) Hear(event, on_event);
  const absl::Status status = stream->Finish();
  MutexLock lock(&mutex_);
  stream_ = nullptr;
  return status;
}

void JobFollower::Hear(const v1::JobEvent& event, const EventCallback& on_event) {
  // Progress carries the number of the event before it, so that a new connection repeats none of the others.
  last_sequence_ = std::max(last_sequence_, event.sequence());
  if (event.has_summary()) summary_ = event.summary();
  if (event.has_state()) {
    state_ = event.state().state();
    summary_.set_state(state_);
    summary_.set_error(event.state().error());
  }
  on_event(event);
}

bool JobFollower::Ended() const {
  return state_ == v1::SUCCEEDED || state_ == v1::FAILED || state_ == v1::CANCELLED;
}

absl::Status JobFollower::AwaitCluster(const std::string& job_id, const absl::Status& problem) {
  const absl::Time deadline = absl::Now() + options_.reconnect_timeout;
  while (true) {
    absl::SleepFor(kConnectAgain);
    RETURN_IF_ERROR(options_.find_cause());
    const absl::Status status = client_->GetJob(job_id).status();
    if (status.ok()) return absl::OkStatus();
    if (absl::IsNotFound(status)) {
      return absl::UnavailableError(absl::StrCat("the cluster at ", client_->address(),
                                                 " was started anew and no longer knows job ", job_id));
    }
    if (absl::Now() < deadline) continue;
    RETURN_IF_ERROR(options_.find_cause());
    return absl::UnavailableError(absl::StrCat(
        "lost sight of job ", job_id, " through ", client_->address(), ": ", problem.message(),
        ". A job without its chief fails; if only the way to the chief is lost, go on with: lockstep watch ",
        job_id));
  }
}

absl::Status JobFollower::FetchEnd(const std::string& job_id, const EventCallback& on_event) {
  ASSIGN_OR_RETURN(const v1::Job job, client_->GetJob(job_id));
  v1::JobEvent summary, state;
  *summary.mutable_summary() = job.summary();
  state.mutable_state()->set_state(job.state());
  state.mutable_state()->set_error(job.error());
  Hear(summary, on_event);
  Hear(state, on_event);
  if (Ended()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(client_->address(), " ended the watch of job ", job_id, ", which still runs"));
}

void JobFollower::CancelJob() {
  MutexLock lock(&mutex_);
  cancel_requested_ = true;
  // Follow may be waiting for an event: this wakes it up.
  if (stream_ != nullptr && !cancel_sent_) stream_->Cancel();
}

bool JobFollower::cancel_requested() const {
  MutexLock lock(&mutex_);
  return cancel_requested_;
}

bool JobFollower::TakeCancel() {
  MutexLock lock(&mutex_);
  if (!cancel_requested_ || cancel_sent_) return false;
  cancel_sent_ = true;
  return true;
}

}  // namespace lockstep

#include "worker/job_runner.h"

#include <utility>

#include "absl/time/clock.h"
#include "base/hash.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "collective/peer_lost.h"

namespace lockstep {

JobRunner::JobRunner(const Options& options, GroupConnector* connector, JobBody* body,
                     OutcomeCallback on_outcome, EndCallback on_end)
    : options_(options),
      connector_(connector),
      body_(body),
      on_outcome_(std::move(on_outcome)),
      on_end_(std::move(on_end)),
      thread_([this] { Loop(); }) {}

JobRunner::~JobRunner() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    next_.reset();
    EndRunningLocked(absl::CancelledError("the daemon shuts down"));
  }
  thread_.join();
}

void JobRunner::Start(const v1::StartJob& start, std::shared_ptr<FitListener> listener) {
  MutexLock lock(&mutex_);
  if (stopping_) return;
  EndRunningLocked(absl::AbortedError("a newer job has started"));
  next_ = Request{start, std::move(listener), absl::OkStatus()};
  held_ = {start.job_id(), start.generation()};
}

void JobRunner::End(const v1::EndJob& end) {
  MutexLock lock(&mutex_);
  const auto matches = [&end](const v1::StartJob& start) {
    return start.job_id() == end.job_id() && start.generation() == end.generation();
  };
  // The chief waits for an outcome of every rank, also of one that has not begun.
  if (next_.has_value() && matches(next_->start)) next_->ended = absl::AbortedError(end.error());
  if (running_.has_value() && matches(*running_)) EndRunningLocked(absl::AbortedError(end.error()));
  if (end.state() == v1::RUNNING) return;
  job_end_ = end;
  if (held_.job_id == end.job_id()) held_ = Held();
}

JobRunner::Held JobRunner::held() const {
  MutexLock lock(&mutex_);
  return held_;
}

void JobRunner::EndAll(const absl::Status& cause) {
  MutexLock lock(&mutex_);
  next_.reset();
  EndRunningLocked(cause);
}

void JobRunner::EndRunningLocked(const absl::Status& cause) {
  if (!running_.has_value() || ended_) return;
  ended_ = true;
  cause_ = cause;
  if (communicator_ != nullptr) {
    communicator_->Abort(cause);
  } else {
    connector_->Cancel(Hash64(running_->job_id()), running_->generation(), cause);
  }
}

void JobRunner::Loop() {
  while (true) {
    std::optional<Request> request;
    std::optional<v1::EndJob> job_end;
    {
      MutexLock lock(&mutex_);
      mutex_.Await(Condition(this, &JobRunner::HasWork));
      if (stopping_) return;
      // A job that has ended before it began is still reported first.
      const bool ended_before = job_end_.has_value() && next_.has_value() && !next_->ended.ok();
      if (job_end_.has_value() && !ended_before) {
        job_end = std::exchange(job_end_, std::nullopt);
      } else {
        request = std::exchange(next_, std::nullopt);
        running_ = request->start;
        ended_ = !request->ended.ok();
        cause_ = request->ended;
      }
    }
    if (job_end.has_value()) {
      Forget(*job_end);
      continue;
    }
    if (request->ended.ok()) {
      RunOne(*request);
    } else {
      Report(*request, request->ended);
    }
    MutexLock lock(&mutex_);
    running_.reset();
  }
}

void JobRunner::Forget(const v1::EndJob& end) {
  body_->Forget(end.job_id());
  if (on_end_ != nullptr) on_end_(end);
}

void JobRunner::RunOne(const Request& request) {
  std::unique_ptr<Communicator> communicator;
  absl::StatusOr<v1::JobSummary> result = [&]() -> absl::StatusOr<v1::JobSummary> {
    ASSIGN_OR_RETURN(
        std::unique_ptr<Transport> transport,
        connector_->Connect(Hash64(request.start.job_id()), request.start.generation(),
                            body_->Connections(request.start), absl::Now() + options_.connect_timeout));
    CommunicatorOptions options = body_->Communication(request.start);
    options.host_of_rank = options_.host_of_rank;
    ASSIGN_OR_RETURN(communicator, Communicator::Create(std::move(transport), options));
    {
      MutexLock lock(&mutex_);
      if (ended_) return cause_;
      communicator_ = communicator.get();
    }
    ASSIGN_OR_RETURN(std::vector<std::string> paths, communicator->AllGather(communicator->paths()));
    {
      MutexLock lock(&mutex_);
      exchange_ = {communicator->medium(), std::move(paths)};
    }
    LOG(INFO) << "job " << request.start.job_id() << " generation " << request.start.generation()
              << ": the ranks exchange by " << communicator->medium();
    if (!communicator->algorithms().empty())
      LOG(INFO) << "all-reduce by " << communicator->algorithms() << ", as measured";
    return body_->Run(request.start, communicator.get(), request.listener.get());
  }();
  Report(request, result);
  MutexLock lock(&mutex_);
  if (!result.ok()) mutex_.AwaitWithDeadline(Condition(&ended_), absl::Now() + options_.hold);
  communicator_ = nullptr;
}

JobRunner::Exchange JobRunner::exchange() const {
  MutexLock lock(&mutex_);
  return exchange_;
}

void JobRunner::Report(const Request& request, const absl::StatusOr<v1::JobSummary>& result) {
  v1::JobOutcome outcome;
  outcome.set_job_id(request.start.job_id());
  outcome.set_generation(request.start.generation());
  outcome.set_rank(options_.rank);
  outcome.set_code(static_cast<int>(result.status().code()));
  outcome.set_message(std::string(result.status().message()));
  if (const std::optional<int> lost = LostRank(result.status()); lost.has_value()) {
    outcome.set_has_lost_rank(true);
    outcome.set_lost_rank(*lost);
  }
  if (!result.ok()) {
    LOG(WARNING) << "job " << request.start.job_id() << " generation " << request.start.generation()
                 << " ended on rank " << options_.rank << ": " << result.status().message();
  }
  on_outcome_(outcome, result.ok() ? *result : v1::JobSummary());
}

}  // namespace lockstep

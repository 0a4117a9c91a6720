#include "worker/chief.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// How soon a cancelled job is noticed while the chief waits for something else.
constexpr absl::Duration kCancelCheck = absl::Milliseconds(100);
// A missing rank is looked for this often.
constexpr absl::Duration kProbeInterval = absl::Seconds(1);
constexpr absl::Duration kStopPatience = absl::Seconds(2);

}  // namespace

Chief::Chief(const ChiefOptions& options, const std::vector<std::string>& addresses, const v1::Identity& self,
             JobTable* jobs, Prober* prober)
    : options_(options),
      jobs_(jobs),
      prober_(prober),
      membership_(addresses, self, options.heartbeat_timeout) {}

Chief::~Chief() { Stop("the daemon shuts down"); }

void Chief::Start(JobRunner* runner) {
  runner_ = runner;
  job_thread_ = std::thread([this] { RunJobs(); });
  time_thread_ = std::thread([this] { KeepTime(); });
  probe_thread_ = std::thread([this] { ProbeMissing(); });
}

void Chief::Stop(const std::string& why) {
  {
    MutexLock lock(&mutex_);
    if (!stopping_) stop_reason_ = why;
    stopping_ = true;
    if (running_.has_value()) FailLocked(stop_reason_);
  }
  jobs_->Close();
  if (job_thread_.joinable()) job_thread_.join();
  jobs_->FailUnended(why);
  if (time_thread_.joinable()) time_thread_.join();
  if (probe_thread_.joinable()) probe_thread_.join();
  MutexLock lock(&mutex_);
  for (const auto& [rank, link] : links_) link->Close(absl::UnavailableError(stop_reason_));
  links_.clear();
}

absl::Status Chief::OnHello(const v1::Identity& hello, std::shared_ptr<MemberLink> link) {
  MutexLock lock(&mutex_);
  if (stopping_) return absl::UnavailableError(stop_reason_);
  if (absl::Status joined = membership_.Join(hello, absl::Now()); !joined.ok()) {
    LOG(WARNING) << "refused rank " << hello.rank() << " (" << DescribeProcess(hello)
                 << "): " << joined.message();
    return joined;
  }
  LOG(INFO) << membership_.Name(hello.rank()) << " joined: " << DescribeProcess(hello);
  links_[hello.rank()] = std::move(link);
  v1::ChiefMessage welcome;
  welcome.mutable_welcome()->set_chief_incarnation(membership_.members()[0].identity.incarnation());
  welcome.mutable_welcome()->set_heartbeat_interval_seconds(
      absl::ToDoubleSeconds(options_.heartbeat_interval));
  links_[hello.rank()]->Send(welcome);
  return absl::OkStatus();
}

void Chief::OnMessage(const v1::Identity& sender, const v1::WorkerMessage& message) {
  MutexLock lock(&mutex_);
  membership_.Heartbeat(sender.rank(), sender.incarnation(), absl::Now());
  if (message.has_outcome()) RecordOutcome(message.outcome());
  if (message.has_leaving()) {
    const std::string why = absl::StrCat("left: ", message.leaving().reason());
    if (membership_.Leave(sender.rank(), sender.incarnation(), why)) MemberLostLocked(sender.rank(), why);
  }
}

void Chief::OnDisconnect(const v1::Identity& sender, const std::string& why) {
  MutexLock lock(&mutex_);
  if (membership_.Leave(sender.rank(), sender.incarnation(), why)) MemberLostLocked(sender.rank(), why);
}

void Chief::OnLocalOutcome(const v1::JobOutcome& outcome, const v1::JobSummary& summary) {
  MutexLock lock(&mutex_);
  if (running_.has_value() && outcome.job_id() == running_->job_id) running_->summary = summary;
  RecordOutcome(outcome);
}

void Chief::RecordOutcome(const v1::JobOutcome& outcome) {
  if (!running_.has_value() || outcome.job_id() != running_->job_id ||
      outcome.generation() != running_->generation) {
    return;  // of a job that has its verdict already
  }
  running_->outcomes[outcome.rank()] = outcome;
  if (outcome.code() == 0) return;
  const int64_t step = jobs_->LastStep(running_->job_id);
  if (const std::string suspension = OwnSuspension(absl::Now()); !suspension.empty())
    return FailLocked(suspension);
  // A timeout blames a rank too, but that one may itself be waiting: then the message stands as it is.
  const bool lost =
      outcome.has_lost_rank() && outcome.code() == static_cast<int>(absl::StatusCode::kUnavailable) &&
      outcome.lost_rank() >= 0 && outcome.lost_rank() < static_cast<int>(membership_.members().size());
  if (!lost) return FailLocked(absl::StrCat(membership_.Name(outcome.rank()), ": ", outcome.message()));
  const std::vector<std::string> detail = absl::StrSplit(outcome.message(), absl::MaxSplits(" lost: ", 1));
  FailLocked(absl::StrCat(membership_.Name(outcome.lost_rank()), " lost at step ", step + 1, ": ",
                          detail.back(), ", noticed by rank ", outcome.rank()));
}

void Chief::FailLocked(const std::string& cause) {
  if (running_.has_value() && !running_->failure.has_value()) running_->failure = cause;
}

std::string Chief::OwnSuspension(absl::Time now) const {
  const absl::Duration pause = now - last_tick_;
  if (pause < options_.heartbeat_timeout) return "";
  return absl::StrFormat(
      "%s stood still for %s (suspended, or starved of processor time); the other ranks have given it up",
      membership_.Name(0), absl::FormatDuration(absl::Trunc(pause, absl::Milliseconds(1))));
}

void Chief::MemberLostLocked(int rank, const std::string& why) {
  LOG(INFO) << membership_.Name(rank) << " is no longer there: " << why;
  links_.erase(rank);
  if (!running_.has_value()) return;
  running_->lost.insert(rank);
  const auto outcome = running_->outcomes.find(rank);
  if (outcome != running_->outcomes.end()) return;  // it had done its part
  if (const std::string suspension = OwnSuspension(absl::Now()); !suspension.empty())
    return FailLocked(suspension);
  FailLocked(absl::StrCat(membership_.Name(rank), " lost at step ", jobs_->LastStep(running_->job_id) + 1,
                          ": ", why));
}

void Chief::RunJobs() {
  while (std::optional<std::string> job_id = jobs_->TakeNext()) RunJob(*job_id);
}

void Chief::RunJob(const std::string& job_id) {
  jobs_->SetState(job_id, v1::STARTING);
  v1::EndJob end;
  v1::JobSummary summary;
  {
    MutexLock lock(&mutex_);
    running_.emplace();
    running_->job_id = job_id;
    end.set_job_id(job_id);
    end.set_generation(running_->generation);
    const absl::Status members = AwaitMembers(job_id);
    if (members.ok()) {
      StartOnAllRanks(job_id);
      AwaitVerdict(job_id);
    } else {
      FailLocked(std::string(members.message()));
    }
    end.set_state(running_->failure.has_value() ? v1::FAILED : v1::SUCCEEDED);
    if (jobs_->CancelRequested(job_id) && running_->failure.has_value()) end.set_state(v1::CANCELLED);
    end.set_error(running_->failure.value_or(""));
    if (members.ok()) EndOnAllRanks(end);
    summary = running_->summary;
    for (v1::RankStats& rank : *summary.mutable_ranks())
      rank.set_address(membership_.members()[rank.rank()].address);
    running_.reset();
  }
  LOG(INFO) << job_id << " " << v1::JobState_Name(end.state()) << (end.error().empty() ? "" : ": ")
            << end.error();
  jobs_->Finish(job_id, end.state(), end.error(), std::move(summary));
}

absl::Status Chief::AwaitMembers(const std::string& job_id) {
  const absl::Time deadline = absl::Now() + options_.join_timeout;
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || membership_.complete();
  };
  while (!mutex_.AwaitWithDeadline(Condition(&ready), absl::Now() + kCancelCheck)) {
    if (jobs_->CancelRequested(job_id)) return absl::CancelledError("cancelled by the user");
    if (absl::Now() < deadline) continue;
    return absl::UnavailableError(absl::StrCat(membership_.DescribeMissing(), " (waited ",
                                               absl::FormatDuration(options_.join_timeout),
                                               ", --join_timeout)"));
  }
  return stopping_ ? absl::CancelledError(stop_reason_) : absl::OkStatus();
}

void Chief::StartOnAllRanks(const std::string& job_id) {
  v1::ChiefMessage message;
  v1::StartJob* start = message.mutable_start();
  start->set_job_id(job_id);
  start->set_generation(running_->generation);
  *start->mutable_spec() = jobs_->Spec(job_id);
  LOG(INFO) << job_id << " starts on " << membership_.members().size() << " ranks, generation "
            << running_->generation;
  running_->lost.clear();
  for (const auto& [rank, link] : links_) link->Send(message);
  runner_->Start(*start, jobs_->MakeListener(job_id));
  jobs_->SetState(job_id, v1::RUNNING);
}

void Chief::AwaitVerdict(const std::string& job_id) {
  const auto decided = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_->failure.has_value() || AllReported();
  };
  while (!mutex_.AwaitWithDeadline(Condition(&decided), absl::Now() + kCancelCheck)) {
    if (jobs_->CancelRequested(job_id)) FailLocked("cancelled by the user");
  }
}

bool Chief::AllReported() const {
  for (size_t rank = 0; rank < membership_.members().size(); ++rank) {
    const bool there = membership_.members()[rank].state == MemberState::kJoined &&
                       running_->lost.count(static_cast<int>(rank)) == 0;
    if (there && running_->outcomes.count(static_cast<int>(rank)) == 0) return false;
  }
  return true;
}

void Chief::EndOnAllRanks(const v1::EndJob& end) {
  v1::ChiefMessage message;
  *message.mutable_end() = end;
  for (const auto& [rank, link] : links_) link->Send(message);
  runner_->End(end);
  const auto quiet = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return AllReported(); };
  // Whoever stops the daemon does not wait for a rank that may be gone.
  const absl::Duration patience =
      stopping_ ? std::min(options_.wind_down, kStopPatience) : options_.wind_down;
  mutex_.AwaitWithDeadline(Condition(&quiet), absl::Now() + patience);
}

void Chief::KeepTime() {
  v1::ChiefMessage heartbeat;
  heartbeat.mutable_heartbeat();
  absl::Time complain_at = absl::Now() + options_.join_timeout;
  MutexLock lock(&mutex_);
  while (!stopping_) {
    if (absl::Now() >= complain_at) {
      complain_at = absl::InfiniteFuture();
      if (!membership_.complete()) {
        LOG(ERROR) << "after " << absl::FormatDuration(options_.join_timeout) << ": "
                   << membership_.DescribeMissing() << "; still waiting for them";
      }
    }
    for (const auto& [rank, link] : links_) link->Send(heartbeat);
    for (const LostMember& lost : membership_.Expire(absl::Now())) {
      if (const auto link = links_.find(lost.rank); link != links_.end())
        link->second->Close(absl::UnavailableError(lost.why));
      MemberLostLocked(lost.rank, lost.why);
    }
    last_tick_ = absl::Now();
    mutex_.AwaitWithDeadline(Condition(&stopping_), last_tick_ + options_.heartbeat_interval);
  }
}

void Chief::ProbeMissing() {
  while (true) {
    std::map<int, std::string> addresses;
    {
      MutexLock lock(&mutex_);
      for (const int rank : membership_.Missing()) addresses[rank] = membership_.members()[rank].address;
      // Another process may have this rank too, and then also lacks the others.
      if (!addresses.empty()) addresses[0] = membership_.members()[0].address;
    }
    for (const auto& [rank, address] : addresses) {
      // No lock over the call.
      const absl::StatusOr<v1::Identity> answer = prober_->Identify(address);
      MutexLock lock(&mutex_);
      if (stopping_) return;
      if (answer.ok()) {
        membership_.ProbeAnswered(rank, *answer);
      } else {
        membership_.ProbeFailed(rank, std::string(answer.status().message()));
      }
    }
    MutexLock lock(&mutex_);
    if (mutex_.AwaitWithDeadline(Condition(&stopping_), absl::Now() + kProbeInterval)) return;
  }
}

v1::Cluster Chief::Describe(const std::vector<std::string>& names) const {
  MutexLock lock(&mutex_);
  v1::Cluster cluster;
  if (runner_ != nullptr) {
    const JobRunner::Exchange exchange = runner_->exchange();
    cluster.set_exchange(exchange.medium);
    cluster.mutable_paths()->Assign(exchange.paths.begin(), exchange.paths.end());
  }
  for (size_t rank = 0; rank < membership_.members().size(); ++rank) {
    const Member& member = membership_.members()[rank];
    v1::Cluster::Member* out = cluster.add_members();
    out->set_rank(static_cast<int>(rank));
    out->set_address(member.address);
    out->set_task(names[rank]);
    out->set_is_chief(rank == 0);
    out->set_state(member.state == MemberState::kJoined ? "joined" : "missing");
    out->set_detail(member.problem);
    if (member.state != MemberState::kJoined) continue;
    out->set_version(member.identity.version());
    out->set_build_id(member.identity.build_id());
    out->set_pid(member.identity.pid());
    out->set_hostname(member.identity.hostname());
  }
  return cluster;
}

}  // namespace lockstep

#include "worker/chief.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/logging.h"

namespace lockstep {
namespace {

// How soon a cancelled job is noticed while the chief waits for something else.
constexpr absl::Duration kCancelCheck = absl::Milliseconds(100);
// A missing rank is looked for this often.
constexpr absl::Duration kProbeInterval = absl::Seconds(1);
// Whoever stops the daemon does not wait longer for a rank that may be gone.
constexpr absl::Duration kStopPatience = absl::Seconds(2);

GenerationPolicy PolicyOf(const v1::JobSpec& spec, const ChiefOptions& options) {
  GenerationPolicy policy;
  if (spec.on_failure() != v1::JobSpec::ON_FAILURE_UNSPECIFIED) policy.on_failure = spec.on_failure();
  policy.min_workers = std::max(1, spec.min_workers());
  policy.join_timeout = options.join_timeout;
  policy.rejoin_timeout = RejoinTimeout(spec);
  policy.wind_down = options.wind_down;
  return policy;
}

RankOutcome::Kind KindOf(const v1::JobOutcome& outcome) {
  switch (static_cast<absl::StatusCode>(outcome.code())) {
    case absl::StatusCode::kOk:
      return RankOutcome::Kind::kSucceeded;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:  // told to let go
      return RankOutcome::Kind::kGroupFailed;
    default:
      return RankOutcome::Kind::kFailed;
  }
}

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
  const absl::StatusOr<std::optional<v1::Identity>> before = membership_.Join(hello, absl::Now());
  if (!before.ok()) {
    LOG(WARNING) << "refused rank " << hello.rank() << " (" << DescribeProcess(hello)
                 << "): " << before.status().message();
    return before.status();
  }
  if (before->has_value()) {
    const absl::Status superseded = SupersededError(**before, hello);
    if (const auto old = links_.find(hello.rank()); old != links_.end()) old->second->Close(superseded);
    MemberLostLocked(hello.rank(), std::string(superseded.message()));
  }
  LOG(INFO) << membership_.Name(hello.rank()) << " joined: " << DescribeProcess(hello);
  links_[hello.rank()] = std::move(link);
  v1::ChiefMessage welcome;
  welcome.mutable_welcome()->set_chief_incarnation(membership_.members()[0].identity.incarnation());
  welcome.mutable_welcome()->set_heartbeat_interval_seconds(
      absl::ToDoubleSeconds(options_.heartbeat_interval));
  links_[hello.rank()]->Send(welcome);
  TellOldJobEnded(hello);
  if (!running_.has_value()) return absl::OkStatus();
  NoteSteps();
  const bool holds = hello.job_id() == running_->job_id;
  running_->generations.OnJoined(hello.rank(), holds ? hello.generation() : 0, absl::Now());
  return absl::OkStatus();
}

// The process was away when the job that it holds ended: it must not keep its state for ever.
void Chief::TellOldJobEnded(const v1::Identity& hello) {
  if (hello.job_id().empty() || (running_.has_value() && running_->job_id == hello.job_id())) return;
  const absl::StatusOr<v1::Job> job = jobs_->Get(hello.job_id());
  if (job.ok() && !IsEnded(job->state())) return;  // it waits for its turn
  v1::ChiefMessage message;
  message.mutable_end()->set_job_id(hello.job_id());
  message.mutable_end()->set_generation(hello.generation());
  message.mutable_end()->set_state(job.ok() ? job->state() : v1::FAILED);
  message.mutable_end()->set_error(
      job.ok() ? job->error() : absl::StrCat("rank 0 knows nothing of the job ", hello.job_id()));
  links_[hello.rank()]->Send(message);
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
  if (!running_.has_value() || outcome.job_id() != running_->job_id) return;  // it has its verdict already
  NoteSteps();
  RankOutcome result;
  result.rank = outcome.rank();
  result.generation = outcome.generation();
  result.kind = KindOf(outcome);
  if (result.kind != RankOutcome::Kind::kSucceeded) result.text = CauseOf(outcome);
  running_->generations.OnOutcome(result, absl::Now());
}

std::string Chief::CauseOf(const v1::JobOutcome& outcome) const {
  if (std::string suspension = OwnSuspension(absl::Now()); !suspension.empty()) return suspension;
  // A timeout blames a rank too, but that one may itself be waiting: then the message stands as it is.
  const bool lost =
      outcome.has_lost_rank() && outcome.code() == static_cast<int>(absl::StatusCode::kUnavailable) &&
      outcome.lost_rank() >= 0 && outcome.lost_rank() < static_cast<int>(membership_.members().size());
  if (!lost) return absl::StrCat(membership_.Name(outcome.rank()), ": ", outcome.message());
  const std::vector<std::string> detail = absl::StrSplit(outcome.message(), absl::MaxSplits(" lost: ", 1));
  return absl::StrCat(membership_.Name(outcome.lost_rank()), " lost at step ",
                      jobs_->LastStep(running_->job_id) + 1, ": ", detail.back(), ", noticed by rank ",
                      outcome.rank());
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
  NoteSteps();
  const std::string suspension = OwnSuspension(absl::Now());
  const std::string cause = absl::StrCat(membership_.Name(rank), " lost at step ",
                                         jobs_->LastStep(running_->job_id) + 1, ": ", why);
  running_->generations.OnLost(rank, suspension.empty() ? cause : suspension, absl::Now());
}

void Chief::NoteSteps() {
  if (jobs_->LastStep(running_->job_id) > running_->step_at_start) running_->generations.OnStep();
}

void Chief::RunJobs() {
  while (std::optional<std::string> job_id = jobs_->TakeNext()) RunJob(*job_id);
}

void Chief::RunJob(const std::string& job_id) {
  jobs_->SetState(job_id, v1::STARTING);
  v1::JobState state;
  std::string error;
  v1::JobSummary summary;
  {
    MutexLock lock(&mutex_);
    running_.emplace(MakeRunningJob(job_id));
    RunGenerations();
    // A generation that did not end in time is left behind when the daemon stops.
    const bool ended = running_->generations.phase() == JobGenerations::Phase::kEnded;
    state = ended ? running_->generations.state() : v1::FAILED;
    error = ended ? running_->generations.error() : stop_reason_;
    summary = running_->summary;
    for (v1::RankStats& rank : *summary.mutable_ranks())
      rank.set_address(membership_.members()[rank.rank()].address);
    running_.reset();
  }
  LOG(INFO) << job_id << " " << v1::JobState_Name(state) << (error.empty() ? "" : ": ") << error;
  jobs_->Finish(job_id, state, error, std::move(summary));
}

RunningJob Chief::MakeRunningJob(const std::string& job_id) {
  std::vector<bool> joined;
  int64_t held = 0;
  for (const Member& member : membership_.members()) {
    joined.push_back(member.state == MemberState::kJoined);
    if (joined.back() && member.identity.job_id() == job_id)
      held = std::max(held, member.identity.generation());
  }
  const auto describe_missing = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return membership_.DescribeMissing();  // called with the lock held, as all of JobGenerations
  };
  return RunningJob(job_id, jobs_->MakeListener(job_id),
                    JobGenerations(PolicyOf(jobs_->Spec(job_id), options_), std::move(joined), held + 1,
                                   /*has_run=*/held > 0, describe_missing, absl::Now()));
}

void Chief::RunGenerations() {
  JobGenerations& generations = running_->generations;
  const auto has_news = [&generations] {
    return generations.has_orders() || generations.phase() == JobGenerations::Phase::kEnded;
  };
  bool stopped = false;
  absl::Time give_up = absl::InfiniteFuture();
  while (true) {
    for (const GenerationOrder& order : generations.TakeOrders()) CarryOut(order);
    const absl::Time now = absl::Now();
    if (generations.phase() == JobGenerations::Phase::kEnded || now >= give_up) return;
    mutex_.AwaitWithDeadline(Condition(&has_news), std::min(generations.deadline(), now + kCancelCheck));
    if (stopping_ && !std::exchange(stopped, true)) {
      generations.Stop(v1::FAILED, stop_reason_, absl::Now());
      give_up = absl::Now() + std::min(options_.wind_down, kStopPatience);
    }
    if (jobs_->CancelRequested(running_->job_id))
      generations.Stop(v1::CANCELLED, "cancelled by the user", absl::Now());
    generations.OnTime(absl::Now());
  }
}

void Chief::CarryOut(const GenerationOrder& order) {
  switch (order.kind) {
    case GenerationOrder::Kind::kStart:
      return StartGeneration(order);
    case GenerationOrder::Kind::kEnd:
      return EndGeneration(order);
    case GenerationOrder::Kind::kExpel:
      return Expel(order);
    case GenerationOrder::Kind::kAskToRegroup:
      return;
  }
}

void Chief::SendTo(const std::vector<int>& ranks, const v1::ChiefMessage& message) {
  for (const int rank : ranks) {
    if (const auto link = links_.find(rank); link != links_.end()) link->second->Send(message);
  }
}

void Chief::StartGeneration(const GenerationOrder& order) {
  v1::ChiefMessage message;
  v1::StartJob* start = message.mutable_start();
  start->set_job_id(running_->job_id);
  start->set_generation(order.generation);
  *start->mutable_spec() = jobs_->Spec(running_->job_id);
  start->mutable_ranks()->Assign(order.ranks.begin(), order.ranks.end());
  LOG(INFO) << running_->job_id << " starts on " << order.ranks.size() << " ranks, generation "
            << order.generation;
  running_->step_at_start = jobs_->LastStep(running_->job_id);
  if (order.generation > 1) {
    running_->listener->OnMessage(absl::StrCat("goes on with ", order.ranks.size(), " of ",
                                               membership_.members().size(), " ranks (generation ",
                                               order.generation, ")"));
  }
  SendTo(order.ranks, message);
  runner_->Start(*start, running_->listener);
  jobs_->SetState(running_->job_id, v1::RUNNING);
}

void Chief::EndGeneration(const GenerationOrder& order) {
  v1::ChiefMessage message;
  v1::EndJob* end = message.mutable_end();
  end->set_job_id(running_->job_id);
  end->set_generation(order.generation);
  end->set_state(order.state);
  end->set_error(order.text);
  if (order.state == v1::RUNNING) {
    LOG(WARNING) << running_->job_id << " generation " << order.generation << " is over: " << order.text;
    running_->listener->OnMessage(absl::StrCat(order.text, "; the others keep the state and wait"));
  }
  SendTo(order.ranks, message);
  runner_->End(*end);
}

// Its connection says nothing about it any more: it has to join anew.
void Chief::Expel(const GenerationOrder& order) {
  const int rank = order.ranks.front();
  const auto link = links_.find(rank);
  if (link == links_.end()) return;
  LOG(WARNING) << membership_.Name(rank) << " " << order.text;
  link->second->Close(absl::UnavailableError(order.text));
  links_.erase(link);
  membership_.Leave(rank, membership_.members()[rank].identity.incarnation(), order.text);
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

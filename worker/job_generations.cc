#include "worker/job_generations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {

using Kind = GenerationOrder::Kind;

absl::Duration RejoinTimeout(const v1::JobSpec& spec) {
  return spec.rejoin_timeout_seconds() > 0 ? absl::Seconds(spec.rejoin_timeout_seconds())
                                           : GenerationPolicy().rejoin_timeout;
}

JobGenerations::JobGenerations(const GenerationPolicy& policy, std::vector<bool> joined,
                               int64_t first_generation, bool has_run,
                               std::function<std::string()> describe_missing, absl::Time now)
    : policy_(policy),
      describe_missing_(std::move(describe_missing)),
      joined_(std::move(joined)),
      generation_(first_generation),
      has_run_(has_run),
      form_deadline_(now +
                     (has_run ? std::max(policy.join_timeout, policy.rejoin_timeout) : policy.join_timeout)),
      partial_from_(now + policy.join_timeout) {
  FormIfPossible(now);
}

std::vector<int> JobGenerations::Joined() const {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < joined_.size(); ++rank)
    if (joined_[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

bool JobGenerations::Enough(size_t there, absl::Time now) const {
  if (there == joined_.size()) return true;
  if (policy_.on_failure != v1::JobSpec::CONTINUE || static_cast<int>(there) < policy_.min_workers)
    return false;
  return now >= partial_from_;
}

void JobGenerations::FormIfPossible(absl::Time now) {
  const std::vector<int> ranks = Joined();
  // What has passed is no deadline any more.
  if (now >= not_before_) not_before_ = absl::InfinitePast();
  if (now >= partial_from_) partial_from_ = absl::InfinitePast();
  if (phase_ != Phase::kForming || now < not_before_ || !Enough(ranks.size(), now)) return;
  phase_ = Phase::kRunning;
  members_ = std::set<int>(ranks.begin(), ranks.end());
  outcomes_.clear();
  gone_.clear();
  has_run_ = true;
  started_ = now;
  orders_.push_back({Kind::kStart, generation_, ranks, v1::RUNNING, ""});
}

void JobGenerations::OnJoined(int rank, int64_t held_generation, absl::Time now) {
  joined_[rank] = true;
  if (phase_ == Phase::kForming) generation_ = std::max(generation_, held_generation + 1);
  FormIfPossible(now);
  if (phase_ == Phase::kRunning && !is_member(rank))
    orders_.push_back({Kind::kAskToRegroup, generation_, {rank}, v1::RUNNING, ""});
}

void JobGenerations::OnLost(int rank, const std::string& cause, absl::Time now) {
  joined_[rank] = false;
  const bool lived = phase_ == Phase::kRunning || phase_ == Phase::kEnding;
  if (!lived || !is_member(rank) || outcomes_.count(rank) > 0 || !gone_.insert(rank).second) return;
  if (ending_.has_value()) {
    ending_->process_lost = true;
    TellEndOnce();
  }
  Ending lost;
  lost.cause = cause;
  lost.process_lost = true;
  if (phase_ == Phase::kRunning && !Succeeded()) Fail(lost, now);
  SettleIfAnswered(now);
}

void JobGenerations::OnOutcome(const RankOutcome& outcome, absl::Time now) {
  const bool lived = phase_ == Phase::kRunning || phase_ == Phase::kEnding;
  if (!lived || outcome.generation != generation_ || !is_member(outcome.rank)) return;
  if (!outcomes_.emplace(outcome.rank, outcome.kind).second) return;
  if (phase_ == Phase::kEnding && outcome.kind == RankOutcome::Kind::kGroupFailed) TellEndOnce();
  if (phase_ == Phase::kRunning && !Succeeded()) {
    Ending failed;
    failed.cause = outcome.text;
    switch (outcome.kind) {
      case RankOutcome::Kind::kSucceeded:
        break;
      case RankOutcome::Kind::kFailed:
        failed.final = true;
        Fail(failed, now);
        break;
      case RankOutcome::Kind::kGroupFailed:
        Fail(failed, now);
        break;
      default:
        LetStop(outcome, now);
    }
  }
  SettleIfAnswered(now);
}

void JobGenerations::OnStep() {
  if (phase_ == Phase::kRunning) cause_.clear();
}

void JobGenerations::Fail(const Ending& ending, absl::Time now) {
  BeginToOvercome(ending.cause, now);
  ending_ = ending;
  ending_->deadline = now + policy_.wind_down;
  if (policy_.on_failure == v1::JobSpec::FAIL) ending_->final = true;
  if (ending_->final && ending_->state == v1::RUNNING) ending_->state = v1::FAILED;
  phase_ = Phase::kEnding;
  TellEndOnce();
}

// A failure before the one before is overcome does not begin the wait anew.
void JobGenerations::BeginToOvercome(const std::string& cause, absl::Time now) {
  partial_from_ = now;
  if (!cause_.empty() && now - started_ < policy_.rejoin_timeout) return;
  cause_ = cause;
  form_deadline_ = now + policy_.rejoin_timeout;
}

// They stop by themselves, after the same step: to be told so early would interrupt it on some. Only when one
// cannot do so any more, the others must be told.
void JobGenerations::LetStop(const RankOutcome& outcome, absl::Time now) {
  Ending stopped;
  stopped.cause = outcome.text;
  stopped.process_lost = true;  // nobody is to blame: no pause
  stopped.deadline = now + policy_.wind_down;
  if (outcome.kind == RankOutcome::Kind::kPreempted) {
    const bool drained =
        policy_.on_failure == v1::JobSpec::CONTINUE && outcome.preempted_rank.value_or(0) > 0;
    stopped.final = !drained;
    stopped.state = drained ? v1::RUNNING : v1::PREEMPTED;
    if (drained) joined_[*outcome.preempted_rank] = false;
  }
  BeginToOvercome(stopped.cause, now);
  ending_ = stopped;
  phase_ = Phase::kEnding;
}

bool JobGenerations::AllAnswered() const {
  return std::all_of(members_.begin(), members_.end(),
                     [this](int rank) { return outcomes_.count(rank) > 0 || gone_.count(rank) > 0; });
}

// Rank 0 reports success behind the last barrier: every rank has done its part then.
bool JobGenerations::Succeeded() const {
  const auto chief = outcomes_.find(0);
  return chief != outcomes_.end() && chief->second == RankOutcome::Kind::kSucceeded;
}

void JobGenerations::SettleIfAnswered(absl::Time now) {
  if (AllAnswered()) Settle(now);
}

void JobGenerations::Settle(absl::Time now) {
  if (phase_ == Phase::kRunning) return EndJob(v1::SUCCEEDED, "");
  TellEndOnce();
  const Ending ending = *std::exchange(ending_, std::nullopt);
  if (ending.final) {
    phase_ = Phase::kEnded;
    state_ = ending.state;
    error_ = ending.cause;
    return;
  }
  if (now >= form_deadline_) return EndJob(v1::FAILED, TimeoutText());
  members_.clear();
  ++generation_;
  phase_ = Phase::kForming;
  not_before_ = ending.process_lost ? absl::InfinitePast() : now + policy_.pause;
  FormIfPossible(now);
}

void JobGenerations::OnTime(absl::Time now) {
  if (phase_ == Phase::kForming) {
    FormIfPossible(now);
    if (phase_ == Phase::kForming && now >= form_deadline_) EndJob(v1::FAILED, TimeoutText());
  }
  if (phase_ == Phase::kEnding && now >= ending_->deadline) GiveUpOnSilent(now);
}

void JobGenerations::GiveUpOnSilent(absl::Time now) {
  for (const int rank : members_) {
    if (outcomes_.count(rank) > 0 || gone_.count(rank) > 0) continue;
    if (rank == 0) {
      // This very process: nobody can make it let go, and without it the job cannot go on.
      ending_->final = true;
      if (ending_->state == v1::RUNNING) ending_->state = v1::FAILED;
      ending_->told = false;
      absl::StrAppend(&ending_->cause, "; rank 0 itself has not let go of the generation for ",
                      absl::FormatDuration(policy_.wind_down));
      continue;
    }
    gone_.insert(rank);
    joined_[rank] = false;
    orders_.push_back({Kind::kExpel,
                       generation_,
                       {rank},
                       v1::RUNNING,
                       absl::StrFormat("has not let go of generation %d for %s: %s", generation_,
                                       absl::FormatDuration(policy_.wind_down), ending_->cause)});
  }
  Settle(now);
}

void JobGenerations::Stop(v1::JobState state, const std::string& why, absl::Time now) {
  if (phase_ == Phase::kForming) return EndJob(state, why);
  if (phase_ == Phase::kEnded || (phase_ == Phase::kRunning && Succeeded())) return;
  Ending stopped;
  stopped.final = true;
  stopped.state = state;
  stopped.cause = why;
  if (phase_ == Phase::kRunning) {
    Fail(stopped, now);
  } else if (!ending_->final) {
    stopped.deadline = ending_->deadline;
    ending_ = stopped;
  }
  SettleIfAnswered(now);
}

absl::Time JobGenerations::deadline() const {
  if (phase_ == Phase::kEnding) return ending_->deadline;
  if (phase_ != Phase::kForming) return absl::InfiniteFuture();
  absl::Time next = form_deadline_;
  for (const absl::Time time : {not_before_, partial_from_})
    if (time != absl::InfinitePast()) next = std::min(next, time);
  return next;
}

std::vector<GenerationOrder> JobGenerations::TakeOrders() { return std::exchange(orders_, {}); }

void JobGenerations::TellEndOnce() {
  if (std::exchange(ending_->told, true)) return;
  TellEnd(ending_->state, ending_->cause);
}

void JobGenerations::TellEnd(v1::JobState state, const std::string& text) {
  orders_.push_back({Kind::kEnd, generation_, Joined(), state, text});
}

void JobGenerations::EndJob(v1::JobState state, const std::string& error) {
  TellEnd(state, error);
  phase_ = Phase::kEnded;
  state_ = state;
  error_ = error;
}

std::string JobGenerations::TimeoutText() const {
  const std::string missing = describe_missing_();
  if (cause_.empty()) {
    const bool rejoining = has_run_ && policy_.rejoin_timeout > policy_.join_timeout;
    return absl::StrCat(missing, " (waited ",
                        absl::FormatDuration(rejoining ? policy_.rejoin_timeout : policy_.join_timeout),
                        rejoining ? ", rejoin_timeout_seconds)" : ", --join_timeout)");
  }
  return absl::StrCat(cause_, missing.empty() ? "" : "; ", missing, " (no step was applied for ",
                      absl::FormatDuration(policy_.rejoin_timeout), ", rejoin_timeout_seconds)");
}

}  // namespace lockstep

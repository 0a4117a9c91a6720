#include "worker/job_table.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace lockstep {
namespace {

// Unique over lives of the chief, readable, and sorted by time within one life.
std::string NewJobId(int64_t number) {
  std::random_device device;
  return absl::StrFormat("job-%d-%08x", number, device());
}

absl::Status NoSuchJob(const std::string& job_id) {
  if (job_id.empty()) return absl::NotFoundError("no job has been submitted yet");
  return absl::NotFoundError(absl::StrCat("no job ", job_id, " is known; `lockstep jobs` lists them"));
}

// The summary of a job that did not succeed comes from no rank: what its events tell.
void AddWhatWasDone(const std::vector<v1::JobEvent>& events, const v1::Progress& progress,
                    v1::JobSummary* summary) {
  summary->set_steps(progress.global_step());
  for (const v1::JobEvent& event : events) {
    if (event.has_fit_begin()) {
      summary->set_world_size(event.fit_begin().world_size());
      summary->set_epochs(event.fit_begin().first_epoch());
    }
    if (!event.has_epoch_end()) continue;
    const v1::EpochEnd& end = event.epoch_end();
    summary->set_epochs(end.epoch());
    summary->set_rows_per_second(end.rows_per_second());
    summary->set_parameter_hash(end.parameter_hash());
    *summary->mutable_metrics() = end.metrics();
  }
}

// Rank 0's own history begins with the generation that it was part of last.
void FillHistory(const std::vector<v1::JobEvent>& events, v1::JobSummary* summary) {
  summary->clear_history();
  for (const v1::JobEvent& event : events) {
    if (!event.has_epoch_end()) continue;
    v1::JobSummary::EpochMetrics* epoch = summary->add_history();
    epoch->set_epoch(event.epoch_end().epoch());
    *epoch->mutable_metrics() = event.epoch_end().metrics();
  }
}

// Progress arrives more often than anybody can read: events go out in batches of at most so many.
constexpr size_t kMostEventsPerWait = 256;

}  // namespace

bool IsEnded(v1::JobState state) {
  return state == v1::SUCCEEDED || state == v1::FAILED || state == v1::CANCELLED;
}

// Appends what it hears to one job's events. A job that goes on after an interruption tells its beginning,
// and perhaps its last epoch, again: those are not repeated.
class JobTable::Listener : public FitListener {
 public:
  Listener(JobTable* table, std::string job_id) : table_(table), job_id_(std::move(job_id)) {}

  void OnFitBegin(const v1::FitBegin& begin) override {
    v1::JobEvent event;
    *event.mutable_fit_begin() = begin;
    Append(std::move(event));
  }
  void OnEpochEnd(const v1::EpochEnd& end) override {
    v1::JobEvent event;
    *event.mutable_epoch_end() = end;
    Append(std::move(event));
  }
  void OnMessage(absl::string_view message) override {
    v1::JobEvent event;
    event.set_message(std::string(message));
    Append(std::move(event));
  }
  void OnProgress(const v1::Progress& progress) override {
    MutexLock lock(&table_->mutex_);
    Entry* entry = table_->Find(job_id_);
    if (entry == nullptr) return;
    *entry->progress.mutable_progress() = progress;
    entry->progress.set_unix_ms(absl::ToUnixMillis(absl::Now()));
    entry->progress.set_sequence(static_cast<int64_t>(entry->events.size()));
    ++entry->progress_count;
  }

 private:
  void Append(v1::JobEvent event) {
    MutexLock lock(&table_->mutex_);
    Entry* entry = table_->Find(job_id_);
    if (entry != nullptr && !IsRepeated(*entry, event)) table_->AppendLocked(entry, std::move(event));
  }

  static bool IsRepeated(const Entry& entry, const v1::JobEvent& event) {
    if (!event.has_fit_begin() && !event.has_epoch_end()) return false;
    return std::any_of(entry.events.begin(), entry.events.end(), [&event](const v1::JobEvent& earlier) {
      if (event.has_fit_begin()) return earlier.has_fit_begin();
      return earlier.has_epoch_end() && earlier.epoch_end().epoch() == event.epoch_end().epoch();
    });
  }

  JobTable* const table_;
  const std::string job_id_;
};

JobTable::Entry* JobTable::Find(const std::string& job_id) {
  const auto entry = entries_.find(job_id.empty() && !order_.empty() ? order_.back() : job_id);
  return entry == entries_.end() ? nullptr : &entry->second;
}

const JobTable::Entry* JobTable::Find(const std::string& job_id) const {
  const auto entry = entries_.find(job_id.empty() && !order_.empty() ? order_.back() : job_id);
  return entry == entries_.end() ? nullptr : &entry->second;
}

void JobTable::AppendLocked(Entry* entry, v1::JobEvent event) {
  event.set_sequence(static_cast<int64_t>(entry->events.size()) + 1);
  event.set_unix_ms(absl::ToUnixMillis(absl::Now()));
  entry->events.push_back(std::move(event));
}

absl::StatusOr<std::string> JobTable::Add(const v1::JobSpec& spec, const std::string& request_id) {
  MutexLock lock(&mutex_);
  if (const auto known = by_request_.find(request_id); !request_id.empty() && known != by_request_.end()) {
    const Entry& entry = entries_[known->second];
    if (entry.spec.SerializeAsString() == spec.SerializeAsString()) return known->second;
    return absl::AlreadyExistsError(
        absl::StrCat("request_id \"", request_id, "\" is that of job ", known->second,
                     ", which has another specification; give a new one an id of its "
                     "own"));
  }
  if (closed_) return absl::UnavailableError("the daemon shuts down");
  if (queue_.size() >= kMostQueuedJobs) {
    return absl::ResourceExhaustedError(
        absl::StrCat(queue_.size(), " jobs are queued already; cancel some or wait"));
  }
  const std::string id = NewJobId(next_number_++);
  Entry& entry = entries_[id];
  entry.spec = spec;
  entry.job.set_id(id);
  entry.job.set_name(spec.name().empty() ? "job" : spec.name());
  entry.job.set_created_unix_ms(absl::ToUnixMillis(absl::Now()));
  order_.push_back(id);
  if (!request_id.empty()) by_request_[request_id] = id;
  SetStateLocked(&entry, v1::QUEUED, "");
  queue_.push_back(id);
  return id;
}

std::optional<std::string> JobTable::TakeNext() {
  MutexLock lock(&mutex_);
  mutex_.Await(Condition(this, &JobTable::HasQueuedOrClosed));
  if (closed_) return std::nullopt;
  std::string id = std::move(queue_.front());
  queue_.pop_front();
  return id;
}

void JobTable::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
}

void JobTable::FailUnended(const std::string& error) {
  MutexLock lock(&mutex_);
  queue_.clear();
  for (auto& [id, entry] : entries_) SetStateLocked(&entry, v1::FAILED, error);
}

v1::JobSpec JobTable::Spec(const std::string& job_id) const {
  MutexLock lock(&mutex_);
  const Entry* entry = Find(job_id);
  return entry == nullptr ? v1::JobSpec() : entry->spec;
}

void JobTable::SetStateLocked(Entry* entry, v1::JobState state, const std::string& error) {
  if (IsEnded(entry->job.state()) || entry->job.state() == state) return;
  entry->job.set_state(state);
  entry->job.set_error(error);
  v1::JobEvent event;
  event.mutable_state()->set_state(state);
  event.mutable_state()->set_error(error);
  AppendLocked(entry, std::move(event));
}

void JobTable::SetState(const std::string& job_id, v1::JobState state, const std::string& error) {
  MutexLock lock(&mutex_);
  if (Entry* entry = Find(job_id)) SetStateLocked(entry, state, error);
}

void JobTable::Finish(const std::string& job_id, v1::JobState state, const std::string& error,
                      v1::JobSummary summary) {
  MutexLock lock(&mutex_);
  Entry* entry = Find(job_id);
  if (entry == nullptr || IsEnded(entry->job.state())) return;
  if (state != v1::SUCCEEDED) AddWhatWasDone(entry->events, entry->progress.progress(), &summary);
  FillHistory(entry->events, &summary);
  summary.set_state(state);
  summary.set_error(error);
  summary.set_seconds(
      absl::ToDoubleSeconds(absl::Now() - absl::FromUnixMillis(entry->job.created_unix_ms())));
  *entry->job.mutable_summary() = summary;
  v1::JobEvent event;
  *event.mutable_summary() = std::move(summary);
  AppendLocked(entry, std::move(event));
  SetStateLocked(entry, state, error);
  DropOldLocked();
}

void JobTable::DropOldLocked() {
  size_t ended = 0;
  for (const std::string& id : order_) ended += IsEnded(entries_.at(id).job.state());
  for (size_t i = 0; ended > kMostEndedJobs && i < order_.size();) {
    const auto entry = entries_.find(order_[i]);
    if (!IsEnded(entry->second.job.state())) {
      ++i;
      continue;
    }
    for (auto request = by_request_.begin(); request != by_request_.end(); ++request) {
      if (request->second != order_[i]) continue;
      by_request_.erase(request);
      break;
    }
    entries_.erase(entry);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    --ended;
  }
}

absl::StatusOr<v1::Job> JobTable::Cancel(const std::string& job_id) {
  MutexLock lock(&mutex_);
  Entry* entry = job_id.empty() ? nullptr : Find(job_id);
  if (entry == nullptr) return NoSuchJob(job_id);
  entry->cancel_requested = true;
  if (entry->job.state() == v1::QUEUED) {
    for (auto queued = queue_.begin(); queued != queue_.end(); ++queued) {
      if (*queued != job_id) continue;
      queue_.erase(queued);
      SetStateLocked(entry, v1::CANCELLED, "cancelled by the user");
      break;
    }
  }
  return entry->job;
}

bool JobTable::CancelRequested(const std::string& job_id) const {
  MutexLock lock(&mutex_);
  const Entry* entry = Find(job_id);
  return entry != nullptr && entry->cancel_requested;
}

absl::StatusOr<v1::Job> JobTable::Get(const std::string& job_id) const {
  MutexLock lock(&mutex_);
  const Entry* entry = Find(job_id);
  if (entry == nullptr) return NoSuchJob(job_id);
  v1::Job job = entry->job;
  if (!IsEnded(job.state()) && entry->progress_count > 0)
    *job.mutable_progress() = entry->progress.progress();
  return job;
}

std::vector<v1::Job> JobTable::List() const {
  MutexLock lock(&mutex_);
  std::vector<v1::Job> jobs;
  for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
    jobs.push_back(entries_.at(*id).job);
    jobs.back().mutable_summary()->clear_history();
  }
  return jobs;
}

std::shared_ptr<FitListener> JobTable::MakeListener(const std::string& job_id) {
  return std::make_shared<Listener>(this, job_id);
}

int64_t JobTable::LastStep(const std::string& job_id) const {
  MutexLock lock(&mutex_);
  const Entry* entry = Find(job_id);
  return entry == nullptr ? 0 : entry->progress.progress().global_step();
}

absl::StatusOr<JobTable::Events> JobTable::WaitForEvents(const std::string& job_id, int64_t after_sequence,
                                                         int64_t* progress_seen, absl::Time deadline) {
  MutexLock lock(&mutex_);
  const auto has_news = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Entry* entry = Find(job_id);
    return entry == nullptr || static_cast<int64_t>(entry->events.size()) > after_sequence ||
           entry->progress_count > *progress_seen || IsEnded(entry->job.state());
  };
  mutex_.AwaitWithDeadline(Condition(&has_news), deadline);
  const Entry* entry = Find(job_id);
  if (entry == nullptr) return NoSuchJob(job_id);
  Events result;
  const size_t first = static_cast<size_t>(std::max<int64_t>(after_sequence, 0));
  for (size_t i = first; i < entry->events.size() && result.events.size() < kMostEventsPerWait; ++i)
    result.events.push_back(entry->events[i]);
  const bool all_sent = first + result.events.size() >= entry->events.size();
  if (all_sent && entry->progress_count > *progress_seen && !IsEnded(entry->job.state())) {
    *progress_seen = entry->progress_count;
    // One from before the newest event, the end of an epoch say, has been overtaken by it.
    if (entry->progress.sequence() == static_cast<int64_t>(entry->events.size()))
      result.events.push_back(entry->progress);
  }
  result.ended = all_sent && IsEnded(entry->job.state());
  return result;
}

}  // namespace lockstep

// Jobs of this chief's life with their states and events. Thread-safe.
//
// An ended job and its events are kept until `kMostEndedJobs` newer ones have ended.
#ifndef LOCKSTEP_WORKER_JOB_TABLE_H_
#define LOCKSTEP_WORKER_JOB_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/trainer.pb.h"
#include "worker/fit_listener.h"

namespace lockstep {

class JobTable {
 public:
  static constexpr size_t kMostQueuedJobs = 1000;
  static constexpr size_t kMostEndedJobs = 100;

  // Queues a job. The same non-empty `request_id` twice: the first job's id.
  // RESOURCE_EXHAUSTED: too many jobs are queued already. UNAVAILABLE: closed.
  absl::StatusOr<std::string> Add(const v1::JobSpec& spec, const std::string& request_id);

  // Waits for a queued job and takes it, in the order of Add; empty once `Close` was called.
  std::optional<std::string> TakeNext();
  // TakeNext ends, Add refuses.
  void Close();
  // Every job that has not ended fails with `error`, so that its watchers hear of an end.
  void FailUnended(const std::string& error);

  v1::JobSpec Spec(const std::string& job_id) const;

  // Changes the state, as an event. Ended states are final: later changes are ignored.
  void SetState(const std::string& job_id, v1::JobState state, const std::string& error = "");
  // The same with the summary, whose state and error are set to match.
  void Finish(const std::string& job_id, v1::JobState state, const std::string& error,
              v1::JobSummary summary);

  // Asks for the end of a job. A queued one ends at once. NOT_FOUND: no such job.
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id);
  bool CancelRequested(const std::string& job_id) const;

  // An empty id means the newest job. NOT_FOUND.
  absl::StatusOr<v1::Job> Get(const std::string& job_id) const;
  std::vector<v1::Job> List() const;

  // Appends to the job's events what `listener` hears. Valid while the table lives.
  std::shared_ptr<FitListener> MakeListener(const std::string& job_id);

  // The step that the job has reached, for messages; 0 before the first.
  int64_t LastStep(const std::string& job_id) const;

  // Events after `after_sequence`, at most a few hundred, and the newest progress if it is newer than
  // `progress_seen` (which is updated). Waits for one until the deadline. `ended`: there will be no more
  // after these.
  struct Events {
    std::vector<v1::JobEvent> events;
    bool ended = false;
  };
  absl::StatusOr<Events> WaitForEvents(const std::string& job_id, int64_t after_sequence,
                                       int64_t* progress_seen, absl::Time deadline);

 private:
  struct Entry {
    v1::Job job;
    v1::JobSpec spec;
    bool cancel_requested = false;
    std::vector<v1::JobEvent> events;  // bounded by epochs; progress is not among them
    v1::JobEvent progress;             // the newest
    int64_t progress_count = 0;
  };
  class Listener;

  Entry* Find(const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Entry* Find(const std::string& job_id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AppendLocked(Entry* entry, v1::JobEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetStateLocked(Entry* entry, v1::JobState state, const std::string& error)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOldLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasQueuedOrClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !queue_.empty(); }

  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> order_ ABSL_GUARDED_BY(mutex_);  // ids, oldest first
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> by_request_ ABSL_GUARDED_BY(mutex_);
  int64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

bool IsEnded(v1::JobState state);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_JOB_TABLE_H_

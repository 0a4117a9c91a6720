// What rank 0 does beside training: knows who is in the cluster, takes jobs from the queue one at a time,
// starts each on all ranks, and decides how it ended.
//
//   queued -> starting (every rank must join within join_timeout) -> running -> succeeded | failed |
//   cancelled
//
// The first failure is the job's root cause. Every rank that still runs is told it and stops.
// Thread-safe. Three threads of its own: one runs jobs, one sends heartbeats and misses those of others, one
// looks for missing ranks.
#ifndef LOCKSTEP_WORKER_CHIEF_H_
#define LOCKSTEP_WORKER_CHIEF_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/cluster.pb.h"
#include "proto/trainer.pb.h"
#include "worker/job_runner.h"
#include "worker/job_table.h"
#include "worker/member_link.h"
#include "worker/membership.h"

namespace lockstep {

// Looks whether anybody answers at the address of a missing rank.
class Prober {
 public:
  virtual ~Prober() = default;
  // Blocks for at most a few seconds. The error says in one line why nobody answers.
  virtual absl::StatusOr<v1::Identity> Identify(const std::string& address) = 0;
};

struct ChiefOptions {
  absl::Duration join_timeout = absl::Seconds(60);
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration heartbeat_timeout = absl::Seconds(10);
  // How long the other ranks may take to stop once a job has ended.
  absl::Duration wind_down = absl::Seconds(15);
};

// The job under way, as far as the verdict needs it.
struct RunningJob {
  std::string job_id;
  int64_t generation = 1;
  std::map<int, v1::JobOutcome> outcomes;  // by rank
  std::set<int> lost;                      // ranks whose process has gone; a new one has no part in this job
  std::optional<std::string> failure;      // the root cause
  v1::JobSummary summary;                  // rank 0's
};

class Chief {
 public:
  // Nothing is owned.
  Chief(const ChiefOptions& options, const std::vector<std::string>& addresses, const v1::Identity& self,
        JobTable* jobs, Prober* prober);
  ~Chief();

  // Starts the threads. `runner` runs rank 0's part and outlives Stop.
  void Start(JobRunner* runner);
  // Ends a running job (FAILED, `why`) and the threads. Idempotent.
  void Stop(const std::string& why);

  // From the membership service.
  absl::Status OnHello(const v1::Identity& hello, std::shared_ptr<MemberLink> link);
  void OnMessage(const v1::Identity& sender, const v1::WorkerMessage& message);
  void OnDisconnect(const v1::Identity& sender, const std::string& why);

  // From the local runner.
  void OnLocalOutcome(const v1::JobOutcome& outcome, const v1::JobSummary& summary);

  v1::Cluster Describe(const std::vector<std::string>& names) const;

 private:
  void RunJobs();
  void RunJob(const std::string& job_id);
  absl::Status AwaitMembers(const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartOnAllRanks(const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AwaitVerdict(const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndOnAllRanks(const v1::EndJob& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordOutcome(const v1::JobOutcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FailLocked(const std::string& cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MemberLostLocked(int rank, const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllReported() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The cause if this process itself has stood still for so long that the others have given it up; else
  // empty.
  std::string OwnSuspension(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void KeepTime();
  void ProbeMissing();

  const ChiefOptions options_;
  JobTable* const jobs_;
  Prober* const prober_;
  JobRunner* runner_ = nullptr;

  mutable Mutex mutex_;
  Membership membership_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::shared_ptr<MemberLink>> links_ ABSL_GUARDED_BY(mutex_);
  std::optional<RunningJob> running_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_tick_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // of KeepTime
  std::string stop_reason_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread job_thread_;
  std::thread time_thread_;
  std::thread probe_thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHIEF_H_

// What rank 0 does beside training: knows who is in the cluster, takes jobs from the queue one at a time, and
// carries out what JobGenerations decides about each: starts a generation on all ranks, tells them its end
// and the root cause, lets the job go on or ends it.
//
//   queued -> starting (every rank must join within join_timeout) -> running -> succeeded | failed |
//   cancelled
//
// Thread-safe. Three threads of its own: one runs jobs, one sends heartbeats and misses those of others, one
// looks for missing ranks.
#ifndef LOCKSTEP_WORKER_CHIEF_H_
#define LOCKSTEP_WORKER_CHIEF_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/cluster.pb.h"
#include "proto/trainer.pb.h"
#include "worker/fit_listener.h"
#include "worker/job_generations.h"
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
  // How long the other ranks may take to stop once a generation has ended.
  absl::Duration wind_down = absl::Seconds(15);
};

// The job under way.
struct RunningJob {
  RunningJob(std::string id, std::shared_ptr<FitListener> job_listener, JobGenerations job_generations)
      : job_id(std::move(id)), listener(std::move(job_listener)), generations(std::move(job_generations)) {}

  std::string job_id;
  std::shared_ptr<FitListener> listener;
  JobGenerations generations;
  int64_t step_at_start = 0;  // of the job, when the live generation began
  v1::JobSummary summary;     // rank 0's
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
  RunningJob MakeRunningJob(const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunGenerations() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CarryOut(const GenerationOrder& order) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartGeneration(const GenerationOrder& order) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndGeneration(const GenerationOrder& order) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Expel(const GenerationOrder& order) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellOldJobEnded(const v1::Identity& hello) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSteps() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordOutcome(const v1::JobOutcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string CauseOf(const v1::JobOutcome& outcome) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MemberLostLocked(int rank, const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendTo(const std::vector<int>& ranks, const v1::ChiefMessage& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

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

// Runs this rank's part of one job after the other, generation by generation, on a thread of its own. The
// same on the chief and on workers.
//
//   Start -> connect the group's transport -> body -> outcome is reported -> (failed: wait for End) -> idle
//
// Between two generations of a job the body keeps the job's state; it forgets it when the job has ended.
// After a failure the transport stays open until the chief has said End or `hold` is over: were it closed at
// once, the neighbours would see a lost connection and could report that instead of the cause. Thread-safe.
#ifndef LOCKSTEP_WORKER_JOB_RUNNER_H_
#define LOCKSTEP_WORKER_JOB_RUNNER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "collective/communicator.h"
#include "proto/cluster.pb.h"
#include "worker/fit_listener.h"

namespace lockstep {

// What a job does once its group is connected.
class JobBody {
 public:
  virtual ~JobBody() = default;
  // `start.spec` is what the chief sent. Returns soon after the communicator was aborted.
  virtual absl::StatusOr<v1::JobSummary> Run(const v1::StartJob& start, Communicator* communicator,
                                             FitListener* listener) = 0;
  // The job is over for the cluster: what was kept of it for another generation can go. On the runner's
  // thread.
  virtual void Forget(const std::string& /*job_id*/) {}
  // Between each two ranks of its group.
  virtual int Connections(const v1::StartJob& /*start*/) const { return 1; }
  // How its group communicates.
  virtual CommunicatorOptions Communication(const v1::StartJob& start) const = 0;
};

// Makes the transport of one generation of one job.
class GroupConnector {
 public:
  virtual ~GroupConnector() = default;
  // Blocks until every peer is connected, the deadline, or Cancel.
  virtual absl::StatusOr<std::unique_ptr<Transport>> Connect(uint64_t job, int64_t generation,
                                                             int connections, absl::Time deadline) = 0;
  // Ends a Connect of this or an older generation that is under way.
  virtual void Cancel(uint64_t job, int64_t generation, const absl::Status& why) = 0;
};

class JobRunner {
 public:
  using OutcomeCallback = std::function<void(const v1::JobOutcome&, const v1::JobSummary&)>;
  using EndCallback = std::function<void(const v1::EndJob&)>;

  struct Options {
    int rank = 0;
    absl::Duration connect_timeout = absl::Seconds(30);
    absl::Duration hold = absl::Seconds(10);
    std::vector<int> host_of_rank;  // as in CommunicatorOptions
  };

  // Nothing is owned. Both are called on the runner's thread; `on_end`, if any, when a job was forgotten.
  JobRunner(const Options& options, GroupConnector* connector, JobBody* body, OutcomeCallback on_outcome,
            EndCallback on_end = nullptr);
  // Ends a running job and joins.
  ~JobRunner();

  // Ends the job before it, if that still runs. `listener` lives until the job's outcome was reported.
  void Start(const v1::StartJob& start, std::shared_ptr<FitListener> listener);

  // The chief's verdict about a generation: if it still runs it stops. Unless the job goes on (RUNNING), the
  // job is forgotten.
  void End(const v1::EndJob& end);

  // Ends whatever runs, with this cause. Its job may go on.
  void EndAll(const absl::Status& cause);

  // The newest generation that was started here, unless its job was forgotten.
  struct Held {
    std::string job_id;  // empty: none
    int64_t generation = 0;
  };
  Held held() const;

  // How the ranks of a job exchange.
  struct Exchange {
    std::string medium;              // Communicator::medium
    std::vector<std::string> paths;  // Communicator::paths, of each rank
  };
  // Of the job that was connected last; empty before the first.
  Exchange exchange() const;

 private:
  struct Request {
    v1::StartJob start;
    std::shared_ptr<FitListener> listener;
    absl::Status ended;  // by the chief before it began: it is only reported
  };

  void Loop();
  void RunOne(const Request& request);
  void Report(const Request& request, const absl::StatusOr<v1::JobSummary>& result);
  void Forget(const v1::EndJob& end);
  void EndRunningLocked(const absl::Status& cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || next_.has_value() || job_end_.has_value();
  }

  const Options options_;
  GroupConnector* const connector_;
  JobBody* const body_;
  const OutcomeCallback on_outcome_;
  const EndCallback on_end_;

  mutable Mutex mutex_;
  std::optional<Request> next_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::EndJob> job_end_
      ABSL_GUARDED_BY(mutex_);  // of a job that is to be forgotten, before next_
  Held held_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::StartJob> running_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;                    // End has come for the running job
  absl::Status cause_ ABSL_GUARDED_BY(mutex_);                    // why, if it must stop
  Communicator* communicator_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the running job
  Exchange exchange_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_JOB_RUNNER_H_

// One daemon's life: listens, forms the cluster with its peers, runs this rank's part of jobs. The difference
// between chief and worker is the rank alone. lockstepd is a main() around this class; MultiWorkerStrategy
// has one inside. Thread-safe.
#ifndef LOCKSTEP_WORKER_NODE_H_
#define LOCKSTEP_WORKER_NODE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "worker/job_runner.h"
#include "worker/listen_address.h"
#include "worker/tf_config.h"

namespace lockstep {

struct NodeOptions {
  ClusterConfig cluster;
  // host or host:port to listen on instead of this rank's entry in TF_CONFIG; empty: that entry.
  std::string bind;
  // Without TF_CONFIG: the port on 127.0.0.1; 0: any free one.
  int port = 0;
  NetworkTrust trust = NetworkTrust::kLoopbackOnly;
  // Whether clients may submit jobs. False: the only job is the one of RunOwnJob.
  bool accepts_jobs = true;
  absl::Duration join_timeout = absl::Seconds(60);
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration heartbeat_timeout = absl::Seconds(10);
  // Of TCP connections, one that the system allows; empty: the system's default.
  std::string congestion_control;
};

class Node {
 public:
  // Returns once it listens; peers are looked for in the background.
  // Errors: see ResolveListenAddress.
  static absl::StatusOr<std::unique_ptr<Node>> Start(const NodeOptions& options,
                                                     std::unique_ptr<JobBody> body);
  virtual ~Node() = default;

  // Numeric host:port.
  virtual const std::string& address() const = 0;

  // For nodes that do not accept jobs: queues the one job on the chief and waits for its end; on other ranks,
  // waits until the chief has run it, also through a loss of the chief that `spec` says to wait for.
  // `progress` hears of it on the chief. Returns the final state and the error, or UNAVAILABLE if the cluster
  // was not complete within join_timeout, or the error of `failure`.
  virtual absl::StatusOr<v1::Job> RunOwnJob(const v1::JobSpec& spec, FitListener* progress) = 0;

  // Not OK once this node can never take part again: ALREADY_EXISTS, another process has taken its rank.
  virtual absl::Status failure() const = 0;

  // Ends a running job and every service. Idempotent; RunOwnJob returns.
  virtual void Stop(const std::string& why) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_NODE_H_

// The strategy of a C++ program that runs on every node of a cluster, told apart by TF_CONFIG alone: what
// tf.distribute.MultiWorkerMirroredStrategy is for TensorFlow.
//
//   ASSIGN_OR_RETURN(auto strategy, MultiWorkerStrategy::FromEnvironment());
//   Sequential model(strategy->EnterScope());
//   ... Add, Compile, Fit: the same calls on every node ...
//
// One-thread. The process serves its peers (health, membership, gradients) on its address in TF_CONFIG while
// the strategy lives; it accepts no jobs.
#ifndef LOCKSTEP_WORKER_MULTI_WORKER_STRATEGY_H_
#define LOCKSTEP_WORKER_MULTI_WORKER_STRATEGY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/strategy.h"

namespace lockstep {

struct MultiWorkerOptions {
  StrategyOptions strategy;
  absl::Duration join_timeout = absl::Seconds(60);
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration heartbeat_timeout = absl::Seconds(10);
  bool insecure_network = false;  // allow plain text on addresses that are not loopback
};

class MultiWorkerStrategy {
 public:
  // Reads TF_CONFIG, listens, and returns once every rank has joined. Call before other threads are started.
  // Errors: INVALID_ARGUMENT: TF_CONFIG. FAILED_PRECONDITION: the address is taken. UNAVAILABLE: a rank did
  // not join; names it and why.
  static absl::StatusOr<std::unique_ptr<MultiWorkerStrategy>> FromEnvironment(
      const MultiWorkerOptions& options = {});

  // The same for a given configuration in place of the environment's.
  static absl::StatusOr<std::unique_ptr<MultiWorkerStrategy>> Create(absl::string_view tf_config,
                                                                     const MultiWorkerOptions& options);

  // Leaves the cluster. Models made in the strategy's scope must be gone.
  virtual ~MultiWorkerStrategy() = default;

  virtual Strategy::Scope EnterScope() = 0;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_MULTI_WORKER_STRATEGY_H_

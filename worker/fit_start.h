// What happens before the first step of a fit: the ranks make sure that they are about to do the same thing,
// and start from the same state.
#ifndef LOCKSTEP_WORKER_FIT_START_H_
#define LOCKSTEP_WORKER_FIT_START_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "collective/communicator.h"
#include "proto/job.pb.h"
#include "worker/checkpointer.h"
#include "worker/fit_listener.h"
#include "worker/fit_plan.h"
#include "worker/fit_state.h"
#include "worker/replica.h"

namespace lockstep {

// Collective. FAILED_PRECONDITION, the same on every rank, if models, jobs or data differ.
absl::Status AgreeOnFit(const v1::JobSpec& spec, const TrainingData& data, const Replica& replica,
                        Communicator* communicator);

// The same before a pass over a dataset without training.
absl::Status AgreeOnPass(const v1::JobSpec& spec, const std::shared_ptr<const Dataset>& dataset,
                         const Replica& replica, Communicator* communicator);

struct StartOptions {
  std::string data_root;              // of initial_weights
  FileSystem* file_system = nullptr;  // not owned
  FitListener* listener = nullptr;    // not owned
};

// Collective. The ranks tell each other where they are, and all go on from the one that is ahead: `state` and
// `replica` are its afterwards. When no rank holds the state of the job, rank 0 restores it from a
// checkpoint, from given weights or by the initialisers, as the specification says. Returns whether a rank
// held it. Errors: see Checkpointer::Resume and LoadWeights. FAILED_PRECONDITION: seed or batch do not fit
// the checkpoint. INTERNAL: the replicas differ afterwards.
absl::StatusOr<bool> StartFit(const v1::JobSpec& spec, const StartOptions& options,
                              Checkpointer* checkpointer, FitState* state, Replica* replica,
                              Communicator* communicator);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_FIT_START_H_

// The state of a replica as it is saved, restored and handed from rank to rank.
//
// Tensors have Keras's shapes under the parameters' names; those of the optimizer are named slot/parameter
// ("m/dense/kernel").
#ifndef LOCKSTEP_WORKER_REPLICA_STATE_H_
#define LOCKSTEP_WORKER_REPLICA_STATE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "collective/communicator.h"
#include "worker/checkpoint_contents.h"
#include "worker/loaded_checkpoint.h"
#include "worker/replica.h"

namespace lockstep {

namespace v1 {
class Compile;
class Model;
}  // namespace v1

// Hex. Equal for specifications whose checkpoints fit each other: same model, kind of optimizer and loss. The
// learning rate may differ.
std::string SpecHash(const v1::Model& model, const v1::Compile& compile);

// Views of the replica's buffers, valid while it lives, with the parts of the manifest that describe them.
// `parameter_hash` is that of the replica.
CheckpointContents Snapshot(const Replica& replica, uint64_t parameter_hash,
                            const v1::CheckpointManifest& position);

// Restores parameters, slots and step.
// FAILED_PRECONDITION: the checkpoint is of another optimizer. INVALID_ARGUMENT: tensors do not fit; with
// both shapes.
absl::Status RestoreAll(const LoadedCheckpoint& checkpoint, Replica* replica);

// Restores parameters alone (evaluation, prediction).
absl::Status RestoreParameters(const LoadedCheckpoint& checkpoint, Replica* replica);

// Parameters from a .safetensors file with exactly one tensor for each of them.
absl::Status LoadWeights(FileSystem* files, const std::string& path, Replica* replica);

// Collective. The parameters, slots and step of rank `root` on all ranks.
absl::Status BroadcastReplica(Communicator* communicator, int root, Replica* replica);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_REPLICA_STATE_H_

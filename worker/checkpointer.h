// When a job saves, and from where it goes on. Only rank 0 touches files; on other ranks every call does
// nothing. Thread-compatible.
#ifndef LOCKSTEP_WORKER_CHECKPOINTER_H_
#define LOCKSTEP_WORKER_CHECKPOINTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_lock.h"
#include "base/file_system.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "worker/checkpoint_store.h"
#include "worker/fit_listener.h"
#include "worker/replica.h"

namespace lockstep {

class Checkpointer {
 public:
  // `spec.directory` lies below `output_root`. A spec without directory, or `rank` other than 0, makes one
  // that does nothing. Pointers are not owned.
  static absl::StatusOr<std::unique_ptr<Checkpointer>> Create(const v1::Checkpoint& spec, int rank,
                                                              const std::string& output_root,
                                                              FileSystem* file_system, FitListener* listener);

  // Restores the replica from the newest valid checkpoint as `resume` says and returns its manifest; empty if
  // the job starts anew. A checkpoint of the job itself, `job_id`, is always taken. A damaged checkpoint that
  // was passed over is told to the listener. NOT_FOUND: REQUIRED, and there is none. ALREADY_EXISTS: NEVER,
  // and there is one. DATA_LOSS: none is usable. FAILED_PRECONDITION: it does not fit the model.
  absl::StatusOr<std::optional<v1::CheckpointManifest>> Resume(const std::string& job_id, Replica* replica);

  bool DueAfterStep(int64_t step) const;
  // `step`: the epoch's last one. `last`: the fit ends with this epoch.
  bool DueAfterEpoch(int64_t epoch, int64_t step, bool last) const;

  // Returns when the checkpoint is durable.
  absl::Status Save(const Replica& replica, const v1::CheckpointManifest& position);
  absl::Status SaveBest(const Replica& replica, const v1::CheckpointManifest& position);

 private:
  Checkpointer(const v1::Checkpoint& spec, FitListener* listener) : spec_(spec), listener_(listener) {}

  const v1::Checkpoint spec_;
  FitListener* const listener_;
  std::unique_ptr<FileLock> lock_;          // of the directory
  std::unique_ptr<CheckpointStore> store_;  // null: nothing is saved here
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHECKPOINTER_H_

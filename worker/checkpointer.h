// When a job saves, and from where it goes on. Only rank 0 touches files; on other ranks every call does
// nothing. Files are written in the background (checkpoint_writer.h). Thread-compatible.
#ifndef LOCKSTEP_WORKER_CHECKPOINTER_H_
#define LOCKSTEP_WORKER_CHECKPOINTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/file_lock.h"
#include "base/file_system.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "worker/checkpoint_store.h"
#include "worker/checkpoint_writer.h"
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

  // Copies the state for Save, and returns Replica::Hash() of it; on ranks without checkpoints only that.
  // Waits for the write before. What is wrong with it is told now, as `on_error` says: FAIL: it is returned.
  // WARN: the listener hears of it.
  absl::StatusOr<uint64_t> Copy(const Replica& replica);

  // Has the state that was copied last, which the replica still has, written while training goes on.
  void Save(const Replica& replica, const v1::CheckpointManifest& position);
  // Copies it, too. Errors as Copy.
  absl::Status SaveBest(const Replica& replica, const v1::CheckpointManifest& position);

  // What is wrong with writes that have ended, as above. Does not wait.
  absl::Status Check();

  // Returns once everything that was saved is durable; errors as above.
  absl::Status Flush();

  // What else training stood still for because of a checkpoint.
  void AddStall(absl::Duration stall) { stall_ += stall; }

  // Adds the numbers of this rank's checkpoints.
  void AddTo(v1::JobSummary* summary) const;

 private:
  Checkpointer(const v1::Checkpoint& spec, FitListener* listener) : spec_(spec), listener_(listener) {}

  // What `on_error` makes of the error of a write; `next` ends the sentence of a warning.
  absl::Status Judge(const absl::Status& error, absl::string_view next);

  const v1::Checkpoint spec_;
  FitListener* const listener_;
  std::unique_ptr<FileLock> lock_;            // of the directory
  std::unique_ptr<CheckpointStore> store_;    // null: nothing is saved here
  std::unique_ptr<CheckpointWriter> writer_;  // of the store; after it, so that it ends first
  // What was copied last.
  int64_t copied_step_ = -1;
  uint64_t copied_hash_ = 0, copied_parameter_hash_ = 0;
  absl::Duration stall_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHECKPOINTER_H_

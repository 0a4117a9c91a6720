// The checkpoint directory of a job, as its chief sees it:
//
//   DIRECTORY/step-000000000812/   model.safetensors, optimizer.safetensors, manifest.json and its CRC-32C
//   DIRECTORY/latest               text: the name of the newest of those directories
//   DIRECTORY/best/                the same contents as a step's, of the best epoch
//
// Invariant, at every operation of a save and after any crash: what stands under those names is complete.
// A checkpoint is written under a temporary name, all files and the directory are synced, it is renamed,
// the parent is synced, and only then `latest` moves. Where a checkpoint is replaced, the old one stands
// aside under ".old-NAME" for the moment between two renames; Open puts it back if the second is missing.
//
// One thread at a time. One process at a time may write to a directory.
#ifndef LOCKSTEP_WORKER_CHECKPOINT_STORE_H_
#define LOCKSTEP_WORKER_CHECKPOINT_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "worker/checkpoint_contents.h"
#include "worker/loaded_checkpoint.h"

namespace lockstep {

class CheckpointStore {
 public:
  // Makes the directory if it is missing, and clears what a crash left behind. `keep` newest checkpoints
  // stay when one is saved; at least 1. `files` must outlive the store.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> Open(FileSystem* files, std::string directory,
                                                               int keep);

  // Returns once the checkpoint of `manifest.step` is durable and `latest` names it; replaces one of the
  // same step. Then removes all but the newest ones.
  // After an error the checkpoints from before are untouched.
  // Errors: INVALID_ARGUMENT: a negative step, tensors that do not match their shapes; those of FileSystem.
  absl::Status Save(const CheckpointContents& contents);

  // The same as "best": neither moves `latest` nor removes others.
  absl::Status SaveBest(const CheckpointContents& contents);

  // The one with the greatest step that is whole. Damaged ones before it go to `skipped`, each with its
  // reason.
  // Errors:
  //   NOT_FOUND: there is no checkpoint.
  //   DATA_LOSS: there are some, but none is whole: each is named with its reason.
  //   PERMISSION_DENIED, RESOURCE_EXHAUSTED: says nothing about the checkpoint: no older one is taken.
  absl::StatusOr<LoadedCheckpoint> LoadNewest(std::vector<std::string>* skipped) const;

  // The same for a directory that this process only reads. It may also be a checkpoint itself, such as
  // DIRECTORY/best.
  static absl::StatusOr<LoadedCheckpoint> LoadNewestOf(FileSystem* files, const std::string& directory,
                                                       std::vector<std::string>* skipped);

  // DIRECTORY/best. Errors: as LoadedCheckpoint::Load.
  absl::StatusOr<LoadedCheckpoint> LoadBest() const;

 private:
  CheckpointStore(FileSystem* files, std::string directory, int keep);

  std::string Path(const std::string& name) const;
  absl::Status ClearLeftovers();
  absl::Status SaveAs(const CheckpointContents& contents, const std::string& name);
  absl::Status Publish(const std::string& temporary, const std::string& name);
  // Removes what stands aside, or puts it back where its successor is missing.
  absl::Status SettleAside(const std::string& aside);
  absl::Status Remove(const std::string& name);
  absl::Status RemoveOldOnes(const std::string& latest);

  FileSystem* const files_;
  const std::string directory_;
  const int keep_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHECKPOINT_STORE_H_

#include "worker/checkpointer.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"
#include "worker/output_path.h"
#include "worker/replica_state.h"

namespace lockstep {
namespace {

constexpr int kKeepByDefault = 3;

absl::Status InField(absl::string_view field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(field, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Checkpointer>> Checkpointer::Create(const v1::Checkpoint& spec, int rank,
                                                                   const std::string& output_root,
                                                                   FileSystem* file_system,
                                                                   FitListener* listener) {
  auto checkpointer = std::unique_ptr<Checkpointer>(new Checkpointer(spec, listener));
  if (spec.directory().empty() || rank != 0) return checkpointer;
  ASSIGN_OR_RETURN(const std::string directory,
                   ResolveOutput(file_system, output_root, spec.directory(), "checkpoint.directory"));
  // Held while the job runs: a directory belongs to one live job, and opening it clears what a crash has left
  // behind. Other file systems than the real one are those of tests.
  if (file_system == FileSystem::Posix()) {
    RETURN_IF_ERROR(CreateDirectories(file_system, directory));
    absl::StatusOr<std::unique_ptr<FileLock>> lock = FileLock::Acquire(directory);
    if (!lock.ok()) return InField("checkpoint.directory", lock.status());
    checkpointer->lock_ = *std::move(lock);
  }
  absl::StatusOr<std::unique_ptr<CheckpointStore>> store =
      CheckpointStore::Open(file_system, directory, spec.has_keep() ? spec.keep() : kKeepByDefault);
  if (!store.ok()) return InField("checkpoint.directory", store.status());
  checkpointer->store_ = *std::move(store);
  return checkpointer;
}

absl::StatusOr<std::optional<v1::CheckpointManifest>> Checkpointer::Resume(const std::string& job_id,
                                                                           Replica* replica) {
  if (store_ == nullptr) return std::nullopt;
  std::vector<std::string> skipped;
  const absl::StatusOr<LoadedCheckpoint> newest = store_->LoadNewest(&skipped);
  for (const std::string& reason : skipped)
    listener_->OnMessage(absl::StrCat("damaged checkpoint passed over: ", reason));
  if (absl::IsNotFound(newest.status())) {
    if (spec_.resume() != v1::Checkpoint::REQUIRED) return std::nullopt;
    return absl::NotFoundError(
        absl::StrCat("checkpoint.resume is REQUIRED, but ", spec_.directory(), " has no checkpoint"));
  }
  const bool is_own = newest.ok() && !job_id.empty() && newest->manifest().job_id() == job_id;
  if (spec_.resume() == v1::Checkpoint::NEVER && !is_own) {
    return absl::AlreadyExistsError(
        absl::StrCat("checkpoint.resume is NEVER, but ", spec_.directory(),
                     " has checkpoints already: give another directory, or remove them"));
  }
  RETURN_IF_ERROR(newest.status());
  RETURN_IF_ERROR(RestoreAll(*newest, replica));
  const v1::CheckpointManifest& manifest = newest->manifest();
  listener_->OnMessage(absl::StrFormat("resumed from %s: %d epochs and %d steps of the next one are done",
                                       newest->path(), manifest.epoch(), manifest.step_in_epoch()));
  return manifest;
}

bool Checkpointer::DueAfterStep(int64_t step) const {
  return !spec_.directory().empty() && spec_.every_steps() > 0 && step % spec_.every_steps() == 0;
}

bool Checkpointer::DueAfterEpoch(int64_t epoch, int64_t step, bool last) const {
  if (spec_.directory().empty()) return false;
  if (last || DueAfterStep(step)) return true;
  if (spec_.every_epochs() > 0) return epoch % spec_.every_epochs() == 0;
  return spec_.every_steps() == 0;
}

absl::Status Checkpointer::Save(const Replica& replica, const v1::CheckpointManifest& position) {
  if (store_ == nullptr) return absl::OkStatus();
  const absl::Status saved = store_->Save(Snapshot(replica, position));
  return saved.ok() ? saved
                    : InField(absl::StrCat("checkpoint of step ", replica.step(), " cannot be saved"), saved);
}

absl::Status Checkpointer::SaveBest(const Replica& replica, const v1::CheckpointManifest& position) {
  if (store_ == nullptr) return absl::OkStatus();
  const absl::Status saved = store_->SaveBest(Snapshot(replica, position));
  return saved.ok() ? saved : InField("the best checkpoint cannot be saved", saved);
}

}  // namespace lockstep

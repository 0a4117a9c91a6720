#include "worker/checkpointer.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
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

// Adds the time of its life.
class StopWatch {
 public:
  explicit StopWatch(absl::Duration* total) : total_(total) {}
  ~StopWatch() { *total_ += absl::Now() - start_; }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

 private:
  absl::Duration* const total_;
  const absl::Time start_ = absl::Now();
};

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
  checkpointer->writer_ = std::make_unique<CheckpointWriter>(checkpointer->store_.get());
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

absl::StatusOr<uint64_t> Checkpointer::Copy(const Replica& replica) {
  if (store_ == nullptr) return replica.Hash();
  const StopWatch watch(&stall_);
  // The best state may have been copied a moment ago. After that the best parameters may have been restored.
  if (copied_step_ == replica.step() && copied_hash_ == replica.Hash()) return copied_hash_;
  std::vector<absl::Span<const float>> buffers = {replica.parameters()};
  buffers.insert(buffers.end(), replica.slots().begin(), replica.slots().end());
  absl::StatusOr<std::vector<uint64_t>> hashes = writer_->Copy(buffers);
  while (!hashes.ok()) {
    RETURN_IF_ERROR(Judge(hashes.status(), "that of this step is tried now"));
    hashes = writer_->Copy(buffers);
  }
  copied_step_ = replica.step();
  copied_hash_ = Replica::CombineHashes(*hashes);
  copied_parameter_hash_ = hashes->front();
  return copied_hash_;
}

void Checkpointer::Save(const Replica& replica, const v1::CheckpointManifest& position) {
  if (store_ == nullptr) return;
  writer_->Write(CheckpointWriter::Target::kStep, Snapshot(replica, copied_parameter_hash_, position));
}

absl::Status Checkpointer::SaveBest(const Replica& replica, const v1::CheckpointManifest& position) {
  if (store_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(Copy(replica).status());
  writer_->Write(CheckpointWriter::Target::kBest, Snapshot(replica, copied_parameter_hash_, position));
  return absl::OkStatus();
}

absl::Status Checkpointer::Check() {
  if (store_ == nullptr) return absl::OkStatus();
  return Judge(writer_->TakeError(), "it is tried again when the next one is due");
}

absl::Status Checkpointer::Flush() {
  if (store_ == nullptr) return absl::OkStatus();
  const StopWatch watch(&stall_);
  for (;;) {
    const absl::Status error = writer_->Flush();
    if (error.ok()) return error;
    RETURN_IF_ERROR(Judge(error, "none is due any more"));
  }
}

absl::Status Checkpointer::Judge(const absl::Status& error, absl::string_view next) {
  if (error.ok() || spec_.on_error() != v1::Checkpoint::WARN) return error;
  listener_->OnMessage(absl::StrCat(error.message(), "; ", next));
  return absl::OkStatus();
}

void Checkpointer::AddTo(v1::JobSummary* summary) const {
  if (store_ == nullptr) return;
  const CheckpointWriter::Stats stats = writer_->stats();
  summary->set_checkpoints(static_cast<int32_t>(stats.written));
  summary->set_checkpoint_stall_seconds(absl::ToDoubleSeconds(stall_));
  summary->set_checkpoint_write_seconds(absl::ToDoubleSeconds(stats.writing));
}

}  // namespace lockstep

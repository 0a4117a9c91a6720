#include "worker/checkpoint_store.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/checksummed_file.h"
#include "base/crc32c.h"
#include "base/file_utilities.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "worker/checkpoint_format.h"
#include "worker/safetensors_writer.h"

namespace lockstep {
namespace {

absl::StatusOr<v1::CheckpointManifest::File> WriteTensors(FileSystem* files, const std::string& directory,
                                                          const std::string& name,
                                                          absl::Span<const NamedTensor> tensors) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> created,
                   files->CreateFile(absl::StrCat(directory, "/", name)));
  ChecksummedFile file(std::move(created));
  RETURN_IF_ERROR(WriteSafetensors(tensors, {{"format", "lockstep"}}, &file));
  RETURN_IF_ERROR(file.Sync());
  RETURN_IF_ERROR(file.Close());
  v1::CheckpointManifest::File entry;
  entry.set_name(name);
  entry.set_bytes(file.bytes());
  entry.set_crc32c(file.crc32c());
  return entry;
}

absl::Status WriteManifest(FileSystem* files, const std::string& directory,
                           const v1::CheckpointManifest& manifest) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(manifest, &text, options);
  if (!printed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the manifest cannot be written: ", std::string(printed.message())));
  }
  RETURN_IF_ERROR(WriteWholeFile(files, absl::StrCat(directory, "/", kManifestFile), text));
  return WriteWholeFile(files, absl::StrCat(directory, "/", kManifestChecksumFile),
                        absl::StrFormat("%08x\n", Crc32c(text.data(), text.size())));
}

// A new, durable directory with all files of a checkpoint.
absl::Status WriteDirectory(FileSystem* files, const std::string& directory,
                            const CheckpointContents& contents) {
  RETURN_IF_ERROR(RemoveRecursively(files, directory));
  RETURN_IF_ERROR(files->CreateDirectory(directory));
  v1::CheckpointManifest manifest = contents.manifest;
  manifest.set_format_version(kCheckpointFormatVersion);
  manifest.clear_files();
  ASSIGN_OR_RETURN(*manifest.add_files(), WriteTensors(files, directory, kModelFile, contents.model));
  ASSIGN_OR_RETURN(*manifest.add_files(), WriteTensors(files, directory, kOptimizerFile, contents.optimizer));
  RETURN_IF_ERROR(WriteManifest(files, directory, manifest));
  return files->SyncDirectory(directory);
}

// Steps that have a directory, newest first.
absl::StatusOr<std::vector<int64_t>> ListSteps(FileSystem* files, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files->ListDirectory(directory));
  std::vector<int64_t> steps;
  for (const std::string& name : names) {
    if (const std::optional<int64_t> step = StepOfDirectory(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

absl::StatusOr<LoadedCheckpoint> LoadStep(FileSystem* files, const std::string& directory, int64_t step) {
  const std::string path = absl::StrCat(directory, "/", StepDirectory(step));
  ASSIGN_OR_RETURN(LoadedCheckpoint checkpoint, LoadedCheckpoint::Load(files, path));
  if (checkpoint.manifest().step() == step) return checkpoint;
  return absl::DataLossError(absl::StrCat(path, " holds step ", checkpoint.manifest().step()));
}

// For what is done once a checkpoint is safe: that it could not be cleaned up behind it fails nothing.
void WarnUnlessOk(const absl::Status& status) {
  if (!status.ok()) LOG(WARNING) << "an old checkpoint stays: " << status.message();
}

// Errors that say nothing about the checkpoint itself: someone has to mend them, an older one is no answer.
bool IsOfTheMachine(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsResourceExhausted(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::Open(FileSystem* files,
                                                                       std::string directory, int keep) {
  if (keep < 1) return absl::InvalidArgumentError(absl::StrCat("checkpoint.keep is ", keep, ", less than 1"));
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  std::unique_ptr<CheckpointStore> store(new CheckpointStore(files, std::move(directory), keep));
  RETURN_IF_ERROR(store->ClearLeftovers());
  return store;
}

CheckpointStore::CheckpointStore(FileSystem* files, std::string directory, int keep)
    : files_(files), directory_(std::move(directory)), keep_(keep) {}

std::string CheckpointStore::Path(const std::string& name) const {
  return absl::StrCat(directory_, "/", name);
}

absl::Status CheckpointStore::ClearLeftovers() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_->ListDirectory(directory_));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, kAsidePrefix)) RETURN_IF_ERROR(SettleAside(name));
    const bool unfinished =
        absl::StartsWith(name, kTemporaryPrefix) || name == absl::StrCat(kLatestFile, ".tmp");
    if (unfinished) RETURN_IF_ERROR(RemoveRecursively(files_, Path(name)));
  }
  return absl::OkStatus();
}

absl::Status CheckpointStore::SettleAside(const std::string& aside) {
  const std::string name(absl::StripPrefix(aside, kAsidePrefix));
  const absl::Status successor = files_->GetKind(Path(name)).status();
  if (successor.ok()) return Remove(aside);
  if (!absl::IsNotFound(successor)) return successor;
  RETURN_IF_ERROR(files_->Rename(Path(aside), Path(name)));
  return files_->SyncDirectory(directory_);
}

absl::Status CheckpointStore::Save(const CheckpointContents& contents) {
  const int64_t step = contents.manifest.step();
  if (step < 0) return absl::InvalidArgumentError(absl::StrCat("cannot save step ", step));
  const std::string name = StepDirectory(step);
  RETURN_IF_ERROR(SaveAs(contents, name));
  RETURN_IF_ERROR(ReplaceFile(files_, Path(kLatestFile), absl::StrCat(name, "\n")));
  WarnUnlessOk(RemoveOldOnes(name));
  return absl::OkStatus();
}

absl::Status CheckpointStore::SaveBest(const CheckpointContents& contents) {
  return SaveAs(contents, kBestDirectory);
}

absl::Status CheckpointStore::SaveAs(const CheckpointContents& contents, const std::string& name) {
  const std::string temporary = absl::StrCat(kTemporaryPrefix, name);
  absl::Status status = WriteDirectory(files_, Path(temporary), contents);
  if (status.ok()) status = Publish(temporary, name);
  // Best effort: the first error is the one to report, and Open clears again.
  if (!status.ok()) RemoveRecursively(files_, Path(temporary)).IgnoreError();
  return status;
}

absl::Status CheckpointStore::Publish(const std::string& temporary, const std::string& name) {
  const std::string aside = absl::StrCat(kAsidePrefix, name);
  const absl::Status old = files_->GetKind(Path(name)).status();
  if (!old.ok() && !absl::IsNotFound(old)) return old;
  if (old.ok()) {
    RETURN_IF_ERROR(RemoveRecursively(files_, Path(aside)));
    RETURN_IF_ERROR(files_->Rename(Path(name), Path(aside)));
  }
  if (absl::Status renamed = files_->Rename(Path(temporary), Path(name)); !renamed.ok()) {
    if (old.ok()) files_->Rename(Path(aside), Path(name)).IgnoreError();
    return renamed;
  }
  RETURN_IF_ERROR(files_->SyncDirectory(directory_));
  if (old.ok()) WarnUnlessOk(Remove(aside));
  return absl::OkStatus();
}

absl::Status CheckpointStore::Remove(const std::string& name) {
  // Renamed first: a crash in the middle must not leave half of it under its name.
  const std::string doomed = Path(absl::StrCat(kTemporaryPrefix, "removed-", name));
  RETURN_IF_ERROR(RemoveRecursively(files_, doomed));
  RETURN_IF_ERROR(files_->Rename(Path(name), doomed));
  RETURN_IF_ERROR(files_->SyncDirectory(directory_));
  return RemoveRecursively(files_, doomed);
}

absl::Status CheckpointStore::RemoveOldOnes(const std::string& latest) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, ListSteps(files_, directory_));
  for (size_t i = static_cast<size_t>(keep_); i < steps.size(); ++i) {
    const std::string name = StepDirectory(steps[i]);
    if (name != latest) RETURN_IF_ERROR(Remove(name));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedCheckpoint> CheckpointStore::LoadNewest(std::vector<std::string>* skipped) const {
  return LoadNewestOf(files_, directory_, skipped);
}

absl::StatusOr<LoadedCheckpoint> CheckpointStore::LoadNewestOf(FileSystem* files,
                                                               const std::string& directory,
                                                               std::vector<std::string>* skipped) {
  skipped->clear();
  // DIRECTORY/best, or one step of another one: a checkpoint itself.
  if (files->GetKind(absl::StrCat(directory, "/", kManifestFile)).ok())
    return LoadedCheckpoint::Load(files, directory);
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, ListSteps(files, directory));
  if (steps.empty()) return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", directory));
  for (const int64_t step : steps) {
    absl::StatusOr<LoadedCheckpoint> checkpoint = LoadStep(files, directory, step);
    if (checkpoint.ok() || IsOfTheMachine(checkpoint.status())) return checkpoint;
    skipped->push_back(absl::StrCat(StepDirectory(step), ": ", checkpoint.status().message()));
  }
  return absl::DataLossError(
      absl::StrCat("no checkpoint in ", directory, " is usable: ", absl::StrJoin(*skipped, "; ")));
}

absl::StatusOr<LoadedCheckpoint> CheckpointStore::LoadBest() const {
  return LoadedCheckpoint::Load(files_, Path(kBestDirectory));
}

}  // namespace lockstep

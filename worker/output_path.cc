#include "worker/output_path.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"
#include "base/path.h"
#include "base/status_macros.h"
#include "worker/checkpoint_format.h"

namespace lockstep {
namespace {

bool IsDirectory(FileSystem* files, const std::string& path) {
  const absl::StatusOr<FileSystem::Kind> kind = files->GetKind(path);
  return kind.ok() && *kind == FileSystem::Kind::kDirectory;
}

// A link `latest` to a directory is somebody else's habit, and cannot be opened as a file.
bool HoldsCheckpoints(FileSystem* files, const std::string& directory) {
  if (files->OpenFile(absl::StrCat(directory, "/", kLatestFile)).ok()) return true;
  const absl::StatusOr<std::vector<std::string>> names = files->ListDirectory(directory);
  if (!names.ok()) return false;
  for (const std::string& name : *names)
    if (StepOfDirectory(name).has_value()) return true;
  return false;
}

// Both are canonical; `resolved` is the root or below it.
absl::Status CheckPlace(FileSystem* files, const std::string& root, const std::string& resolved,
                        const std::string& path, const std::string& field) {
  if (resolved == root) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", path, " is the root directory ", root, " itself; name a place below it"));
  }
  std::string holder = resolved;
  while (holder.size() > root.size()) {
    holder = ParentDirectory(holder);
    if (!HoldsCheckpoints(files, holder)) continue;
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, " lies in the checkpoint directory ",
                                                   holder, ", whose files are its job's own"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ResolvePlace(FileSystem* files, const std::string& root, const std::string& path,
                                         const std::string& field) {
  ASSIGN_OR_RETURN(const std::string resolved, ResolveBelow(root, path, field));
  ASSIGN_OR_RETURN(const std::string real_root, ResolveBelow(root, ".", field));
  RETURN_IF_ERROR(CheckPlace(files, real_root, resolved, path, field));
  return resolved;
}

absl::StatusOr<std::string> ResolveFile(FileSystem* files, const std::string& root, const std::string& path,
                                        const std::string& field) {
  ASSIGN_OR_RETURN(std::string file, ResolvePlace(files, root, path, field));
  if (IsDirectory(files, file))
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, " (", file, ") is a directory"));
  if (absl::EndsWith(file, "/"))
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, " names a directory, not a file"));
  return file;
}

absl::Status MakeRoot(FileSystem* files, const std::string& root) {
  if (root.empty()) return absl::OkStatus();
  const absl::Status made = CreateDirectories(files, root);
  if (made.ok()) return made;
  return absl::Status(made.code(), absl::StrCat("--output_root cannot be made: ", made.message()));
}

}  // namespace

absl::StatusOr<std::string> ResolveOutput(FileSystem* files, const std::string& root, const std::string& path,
                                          const std::string& field) {
  RETURN_IF_ERROR(MakeRoot(files, root));
  return ResolvePlace(files, root, path, field);
}

absl::StatusOr<std::string> ResolveOutputFile(FileSystem* files, const std::string& root,
                                              const std::string& path, const std::string& field) {
  RETURN_IF_ERROR(MakeRoot(files, root));
  return ResolveFile(files, root, path, field);
}

absl::Status CheckOutputPaths(FileSystem* files, const std::string& root, const v1::JobSpec& spec) {
  if (absl::IsNotFound(ResolveBelow(root, ".", "--output_root").status())) return absl::OkStatus();
  const std::string& checkpoint = spec.checkpoint().directory();
  const bool reads = spec.task() == v1::JobSpec::EVALUATE || spec.task() == v1::JobSpec::PREDICT;
  if (!checkpoint.empty()) {
    RETURN_IF_ERROR(reads ? ResolveBelow(root, checkpoint, "checkpoint.directory").status()
                          : ResolvePlace(files, root, checkpoint, "checkpoint.directory").status());
  }
  if (spec.predict().output().empty()) return absl::OkStatus();
  return ResolveFile(files, root, spec.predict().output(), "predict.output").status();
}

}  // namespace lockstep

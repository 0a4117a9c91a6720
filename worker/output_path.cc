#include "worker/output_path.h"

#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"
#include "base/path.h"
#include "base/status_macros.h"
#include "worker/checkpoint_format.h"

namespace lockstep {

absl::StatusOr<std::string> ResolveOutput(FileSystem* files, const std::string& root, const std::string& path,
                                          const std::string& field) {
  if (absl::Status made = CreateDirectories(files, root); !root.empty() && !made.ok()) {
    return absl::Status(made.code(), absl::StrCat("--output_root cannot be made: ", made.message()));
  }
  return ResolveBelow(root, path, field);
}

absl::StatusOr<std::string> ResolveOutputFile(FileSystem* files, const std::string& root,
                                              const std::string& path, const std::string& field) {
  ASSIGN_OR_RETURN(const std::string file, ResolveOutput(files, root, path, field));
  const absl::StatusOr<FileSystem::Kind> kind = files->GetKind(file);
  if (kind.ok() && *kind == FileSystem::Kind::kDirectory)
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, " (", file, ") is a directory"));
  const std::string directory = ParentDirectory(file);
  for (const std::string& holder : {directory, ParentDirectory(directory)}) {
    if (!files->GetKind(absl::StrCat(holder, "/", kLatestFile)).ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, " lies in the checkpoint directory ",
                                                   holder, ", whose files are the job's own"));
  }
  return file;
}

}  // namespace lockstep

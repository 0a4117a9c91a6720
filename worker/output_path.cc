#include "worker/output_path.h"

#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"
#include "base/path.h"

namespace lockstep {

absl::StatusOr<std::string> ResolveOutput(FileSystem* files, const std::string& root, const std::string& path,
                                          const std::string& field) {
  if (absl::Status made = CreateDirectories(files, root); !root.empty() && !made.ok()) {
    return absl::Status(made.code(), absl::StrCat("--output_root cannot be made: ", made.message()));
  }
  return ResolveBelow(root, path, field);
}

}  // namespace lockstep

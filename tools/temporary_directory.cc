#include "tools/temporary_directory.h"

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::Create() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = absl::StrCat(parent != nullptr && *parent != '\0' ? parent : "/tmp", "/lockstep-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return absl::ErrnoToStatus(errno, path);
  return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(path));
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!keep_) RemoveRecursively(FileSystem::Posix(), path_).IgnoreError();
}

}  // namespace lockstep

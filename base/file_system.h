// The one seam to files for everything that is written, so that tests can fail and crash at each operation
// (base/fake_file_system.h). Thread-safe.
//
// What survives a loss of power: the bytes of a file once WritableFile::Sync returned; the names in a
// directory (made, renamed, removed) once SyncDirectory returned. Rename is atomic: afterwards `to` is
// either what it was or what `from` was.
//
// Errors of all functions name the path and carry the system's text:
//   NOT_FOUND no such file; PERMISSION_DENIED; RESOURCE_EXHAUSTED disk or quota full; others as
//   absl::ErrnoToStatus.
#ifndef LOCKSTEP_BASE_FILE_SYSTEM_H_
#define LOCKSTEP_BASE_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/readable_file.h"
#include "base/writable_file.h"

namespace lockstep {

class FileSystem {
 public:
  enum class Kind { kFile, kDirectory };  // kFile: everything that is not a directory

  virtual ~FileSystem() = default;

  // The operating system's. Never destroyed.
  static FileSystem* Posix();

  // The parent must exist. A directory that is there already is fine.
  virtual absl::Status CreateDirectory(const std::string& path) = 0;

  // An empty file; what was there under this name is emptied.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> CreateFile(const std::string& path) = 0;

  // Errors: FAILED_PRECONDITION: not a regular file.
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenFile(const std::string& path) = 0;

  // Replaces a file, or an empty directory, that is there under the name `to`.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;

  virtual absl::Status RemoveFile(const std::string& path) = 0;

  // Errors: FAILED_PRECONDITION: the directory is not empty.
  virtual absl::Status RemoveEmptyDirectory(const std::string& path) = 0;

  // Names without the directory's own path, sorted; without "." and "..".
  virtual absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) = 0;

  // Of the name itself: a symbolic link is not followed, so it is a kFile.
  virtual absl::StatusOr<Kind> GetKind(const std::string& path) = 0;

  virtual absl::Status SyncDirectory(const std::string& path) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_FILE_SYSTEM_H_

// What is put together from the operations of a FileSystem.
#ifndef LOCKSTEP_BASE_FILE_UTILITIES_H_
#define LOCKSTEP_BASE_FILE_UTILITIES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace lockstep {

// Makes `path` and the directories above it that are missing; their names survive a loss of power.
absl::Status CreateDirectories(FileSystem* files, const std::string& path);

// Removes a file, or a directory with all that is in it. Nothing there is fine. Follows no symbolic links.
absl::Status RemoveRecursively(FileSystem* files, const std::string& path);

// Errors: OUT_OF_RANGE: more than `most_bytes`; nothing is read then.
absl::StatusOr<std::string> ReadWholeFile(FileSystem* files, const std::string& path, int64_t most_bytes);

// A synced file of these contents. Its name survives a loss of power after SyncDirectory of its parent.
absl::Status WriteWholeFile(FileSystem* files, const std::string& path, absl::string_view contents);

// Puts `contents` in place of the file `path`, which is never seen in between: written beside it as
// "PATH.tmp", synced, renamed, directory synced.
absl::Status ReplaceFile(FileSystem* files, const std::string& path, absl::string_view contents);

// "/a/b" of "/a/b/c", "/" of "/a", "." of "a".
std::string ParentDirectory(absl::string_view path);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_FILE_UTILITIES_H_

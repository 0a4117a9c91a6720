// Keeps the files that a job names below a root directory that the operator chose.
#ifndef LOCKSTEP_BASE_PATH_H_
#define LOCKSTEP_BASE_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// The absolute path of `path` (relative to `root`; an empty root is the working directory) with symbolic
// links and ".." resolved. The file, and directories above it, need not exist yet. `field` is the field of
// the job that holds the path, for messages.
//
// Errors: INVALID_ARGUMENT if the path is empty, lies outside of the root after resolution, or goes through
// a symbolic link to nothing (writing to it could end up anywhere); NOT_FOUND if the root does not exist.
absl::StatusOr<std::string> ResolveBelow(absl::string_view root, absl::string_view path,
                                         absl::string_view field);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_PATH_H_

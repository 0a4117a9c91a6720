// Where a job may write. Used on rank 0 alone.
#ifndef LOCKSTEP_WORKER_OUTPUT_PATH_H_
#define LOCKSTEP_WORKER_OUTPUT_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"

namespace lockstep {

// ResolveBelow(root, path, field), after making the root if it is missing.
absl::StatusOr<std::string> ResolveOutput(FileSystem* files, const std::string& root, const std::string& path,
                                          const std::string& field);

// The same for a file that is to be written. INVALID_ARGUMENT if a directory is there, or if it would lie in
// a checkpoint directory.
absl::StatusOr<std::string> ResolveOutputFile(FileSystem* files, const std::string& root,
                                              const std::string& path, const std::string& field);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_OUTPUT_PATH_H_

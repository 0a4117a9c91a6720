// Where a job may write. Used on rank 0 alone.
#ifndef LOCKSTEP_WORKER_OUTPUT_PATH_H_
#define LOCKSTEP_WORKER_OUTPUT_PATH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/job.pb.h"

namespace lockstep {

// ResolveBelow(root, path, field), after making the root if it is missing. INVALID_ARGUMENT if that is the
// root itself or lies within a directory of checkpoints: one with a file `latest` or a directory step-*.
absl::StatusOr<std::string> ResolveOutput(FileSystem* files, const std::string& root, const std::string& path,
                                          const std::string& field);

// The same for a file that is to be written: neither is a directory there, nor does the path name one.
absl::StatusOr<std::string> ResolveOutputFile(FileSystem* files, const std::string& root,
                                              const std::string& path, const std::string& field);

// What the two would say of the outputs of `spec`, without making anything. OK if the root is missing.
absl::Status CheckOutputPaths(FileSystem* files, const std::string& root, const v1::JobSpec& spec);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_OUTPUT_PATH_H_

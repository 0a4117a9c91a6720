// Job specifications as users write them.
#ifndef LOCKSTEP_WORKER_JOB_FILE_H_
#define LOCKSTEP_WORKER_JOB_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace lockstep {

// Protobuf text format, or JSON if the first character is a brace. `name` is for messages.
// INVALID_ARGUMENT with line and column (text format) and what was expected.
absl::StatusOr<v1::JobSpec> ParseJob(absl::string_view text, const std::string& name);

// The same from a file, pipe or device of at most 16 MiB. NOT_FOUND and other errors of the file system name
// the path.
absl::StatusOr<v1::JobSpec> ReadJobFile(const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_JOB_FILE_H_

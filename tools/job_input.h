// The job file that a command was given.
#ifndef LOCKSTEP_TOOLS_JOB_INPUT_H_
#define LOCKSTEP_TOOLS_JOB_INPUT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace lockstep {

// As ReadJobFile; "-" is standard input.
absl::StatusOr<v1::JobSpec> ReadJobInput(const std::string& path);

// CheckJob with the path in front of its message. For commands that have no cluster to ask.
absl::Status CheckJobInput(const std::string& path, const v1::JobSpec& spec);

// Whether the outputs can lie where they are to, below a root on this machine; empty: the working directory.
// For commands that know the root. Makes nothing. INVALID_ARGUMENT.
absl::Status CheckJobOutputs(const std::string& path, const v1::JobSpec& spec,
                             const std::string& output_root);

// `status` with the path in front of its message.
absl::Status InJobInput(const std::string& path, const absl::Status& status);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JOB_INPUT_H_

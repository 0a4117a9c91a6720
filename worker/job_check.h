// What can be known of a job before it runs.
#ifndef LOCKSTEP_WORKER_JOB_CHECK_H_
#define LOCKSTEP_WORKER_JOB_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace lockstep {

// Checks the specification alone: fields, their ranges and combinations, and whether model, loss, metrics and
// optimizer fit each other. Reads no data and takes no memory to speak of.
// INVALID_ARGUMENT naming the field by its path.
absl::Status CheckJob(const v1::JobSpec& spec);

// What is allowed but probably not meant, a line each.
std::vector<std::string> JobWarnings(const v1::JobSpec& spec);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_JOB_CHECK_H_

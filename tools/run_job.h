// From a specification to the end of its job, on a cluster or on daemons of its own.
#ifndef LOCKSTEP_TOOLS_RUN_JOB_H_
#define LOCKSTEP_TOOLS_RUN_JOB_H_

#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "tools/exit_code.h"
#include "tools/flags.h"

namespace lockstep {

enum class AfterSubmit { kReturn, kWatch };

// Submits the job and, with kWatch, follows it to its end. An empty `request_id` stands for a random one.
ExitCode RunOnCluster(const v1::JobSpec& spec, const std::string& request_id, AfterSubmit after,
                      const ClusterFlags& cluster, const ReportFlags& report);

// Follows a job that was submitted before; an empty id: the newest one.
ExitCode WatchJob(const std::string& job_id, const ClusterFlags& cluster, const ReportFlags& report);

// Starts daemons, runs the job and stops them. The first SIGINT, SIGTERM or SIGHUP cancels the job.
// The specification has passed CheckJob. Call before any other thread is started.
ExitCode RunLocally(const v1::JobSpec& spec, const LocalFlags& local, const ReportFlags& report);

// For a job that cannot be run at all: reports `status`, in the summary file too.
ExitCode RefuseJob(const absl::Status& status, const ReportFlags& report);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_RUN_JOB_H_

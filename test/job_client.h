// Jobs as a client of one daemon runs and follows them in a test. Every call has a deadline.
#ifndef LOCKSTEP_TEST_JOB_CLIENT_H_
#define LOCKSTEP_TEST_JOB_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "proto/trainer.grpc.pb.h"

namespace lockstep {

// Errors of all calls: the service's.
class JobClient {
 public:
  explicit JobClient(const std::string& address);

  // Returns the job's id.
  absl::StatusOr<std::string> Submit(const v1::JobSpec& spec, const std::string& request_id = "");
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id);
  absl::StatusOr<v1::Job> GetJob(const std::string& job_id);
  absl::StatusOr<v1::ListJobsResponse> ListJobs();
  absl::StatusOr<v1::Cluster> DescribeCluster();

  // All events of a job, once it has ended.
  absl::StatusOr<std::vector<v1::JobEvent>> Events(const std::string& job_id);

  // Follows a job from its first event to the first one for which `wanted` is true.
  // OUT_OF_RANGE: the job has ended without.
  absl::StatusOr<v1::JobEvent> AwaitEvent(const std::string& job_id,
                                          const std::function<bool(const v1::JobEvent&)>& wanted);
  // Until `step` updates, resumed ones included, are reported.
  absl::Status AwaitStep(const std::string& job_id, int64_t step);
  absl::Status AwaitEpoch(const std::string& job_id, int64_t epoch);

  absl::StatusOr<v1::Job> AwaitEnd(const std::string& job_id);
  // Submit and AwaitEnd.
  absl::StatusOr<v1::Job> Run(const v1::JobSpec& spec);

  // Waits until DescribeCluster says that every rank has joined.
  absl::Status AwaitComplete();
  // Waits until DescribeCluster says this of a rank.
  absl::Status AwaitDetail(int rank, const std::string& text);

 private:
  absl::Status AwaitCluster(const std::function<bool(const v1::Cluster&)>& condition);

  std::shared_ptr<v1::Trainer::Stub> stub_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_JOB_CLIENT_H_

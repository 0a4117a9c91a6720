// A cluster as clients see it: the calls of proto/trainer.proto to one of its daemons, with deadlines.
#ifndef LOCKSTEP_TOOLS_TRAINER_CLIENT_H_
#define LOCKSTEP_TOOLS_TRAINER_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/watch_stream.h"

namespace lockstep {

namespace v1 {
class Cluster;
class Job;
class JobSpec;
class ListJobsResponse;
class SubmitResponse;
}  // namespace v1

// Thread-safe.
//
// Errors of all calls: those of the service, and UNAVAILABLE with the address if no daemon answers.
class TrainerClient {
 public:
  // `address` is that of any daemon. `connect_timeout` is how long a call waits for it to answer.
  // Errors: INVALID_ARGUMENT the address is no host:port.
  static absl::StatusOr<std::unique_ptr<TrainerClient>> Create(const std::string& address,
                                                               absl::Duration connect_timeout);
  ~TrainerClient();

  const std::string& address() const { return address_; }

  // Tries again within the connect timeout while the chief cannot be reached: the same `request_id` is the
  // same job, however often it is sent.
  absl::StatusOr<v1::SubmitResponse> Submit(const v1::JobSpec& spec, const std::string& request_id);

  // An empty id is the newest job, except for Cancel.
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id);
  absl::StatusOr<v1::Job> GetJob(const std::string& job_id);
  absl::StatusOr<v1::ListJobsResponse> ListJobs();
  absl::StatusOr<v1::Cluster> DescribeCluster();

  // Events with a sequence number above `after_sequence`. Whether the daemon answers shows in the stream.
  std::unique_ptr<WatchStream> Watch(const std::string& job_id, int64_t after_sequence);

 private:
  struct Service;

  TrainerClient(const std::string& address, absl::Duration connect_timeout);

  absl::Status Connect(absl::Time deadline);
  template <typename Request, typename Response, typename Method>
  absl::StatusOr<Response> Call(Method method, const Request& request);

  const std::string address_;
  const absl::Duration connect_timeout_;
  const std::unique_ptr<Service> service_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_TRAINER_CLIENT_H_

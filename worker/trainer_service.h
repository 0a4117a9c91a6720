// The gRPC service for clients: answers on the chief; on other ranks, passes calls on to the chief.
//
// Synchronous handlers: few clients, and a watcher costs one thread of gRPC's pool. Thread-safe.
#ifndef LOCKSTEP_WORKER_TRAINER_SERVICE_H_
#define LOCKSTEP_WORKER_TRAINER_SERVICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "proto/trainer.grpc.pb.h"
#include "worker/chief.h"
#include "worker/job_table.h"

namespace lockstep {

// On the chief.
class ChiefTrainerService : public v1::Trainer::Service {
 public:
  // `names` are the ranks' task names. `accepts_jobs` is false where the job is given by a file. Nothing is
  // owned.
  ChiefTrainerService(JobTable* jobs, Chief* chief, const std::vector<std::string>& names, bool accepts_jobs)
      : jobs_(jobs), chief_(chief), names_(names), accepts_jobs_(accepts_jobs) {}

  // Ends watches. Call before the server is shut down.
  void Stop() { stopping_ = true; }

  grpc::Status Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                      v1::SubmitResponse* response) override;
  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::JobEvent>* writer) override;
  grpc::Status Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                      v1::Job* response) override;
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::Job* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::Status DescribeCluster(grpc::ServerContext* context, const v1::DescribeClusterRequest* request,
                               v1::Cluster* response) override;

 private:
  JobTable* const jobs_;
  Chief* const chief_;
  const std::vector<std::string> names_;
  const bool accepts_jobs_;
  std::atomic<bool> stopping_{false};
};

// On every other rank.
class ForwardingTrainerService : public v1::Trainer::Service {
 public:
  // `chief_status` is OK unless the chief is known to be gone; then it says why. `describe_own_view` answers
  // DescribeCluster meanwhile.
  ForwardingTrainerService(const std::string& chief_address, std::function<absl::Status()> chief_status,
                           std::function<v1::Cluster()> describe_own_view);

  grpc::Status Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                      v1::SubmitResponse* response) override;
  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::JobEvent>* writer) override;
  grpc::Status Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                      v1::Job* response) override;
  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                      v1::Job* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::Status DescribeCluster(grpc::ServerContext* context, const v1::DescribeClusterRequest* request,
                               v1::Cluster* response) override;

  // Ends the watches of clients: the chief is lost. They are told what `chief_status` says.
  void EndWatches();

 private:
  // Runs a unary call on the chief within the caller's deadline, or a minute.
  template <typename Request, typename Response>
  grpc::Status Forward(grpc::ServerContext* context,
                       grpc::Status (v1::Trainer::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                 Response*),
                       const Request& request, Response* response);

  // UNAVAILABLE naming the chief, and `detail` as the reason.
  grpc::Status ChiefUnreachable(absl::string_view detail) const;

  const std::string chief_address_;
  const std::function<absl::Status()> chief_status_;
  const std::function<v1::Cluster()> describe_own_view_;
  const std::unique_ptr<v1::Trainer::Stub> chief_;

  Mutex mutex_;
  std::set<grpc::ClientContext*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_TRAINER_SERVICE_H_

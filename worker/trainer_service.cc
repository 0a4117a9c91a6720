#include "worker/trainer_service.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "worker/control_channel.h"
#include "worker/job_check.h"
#include "worker/rpc_status.h"

namespace lockstep {
namespace {

// A watch looks this often whether its client is still there.
constexpr absl::Duration kWatchCheck = absl::Milliseconds(200);
constexpr absl::Duration kForwardDeadline = absl::Minutes(1);
constexpr size_t kMostRequestIdBytes = 128;

}  // namespace

grpc::Status ChiefTrainerService::Submit(grpc::ServerContext*, const v1::SubmitRequest* request,
                                         v1::SubmitResponse* response) {
  if (!accepts_jobs_) {
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                        "this cluster runs the job of its --job file and takes no others");
  }
  if (request->request_id().size() > kMostRequestIdBytes) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        absl::StrCat("request_id has ", request->request_id().size(), " characters, at most ",
                                     kMostRequestIdBytes, " are allowed"));
  }
  if (absl::Status checked = CheckJob(request->spec()); !checked.ok()) return ToGrpcStatus(checked);
  const absl::StatusOr<std::string> id = jobs_->Add(request->spec(), request->request_id());
  if (!id.ok()) return ToGrpcStatus(id.status());
  response->set_job_id(*id);
  for (std::string& warning : JobWarnings(request->spec())) response->add_warnings(std::move(warning));
  return grpc::Status::OK;
}

grpc::Status ChiefTrainerService::Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                                        grpc::ServerWriter<v1::JobEvent>* writer) {
  const absl::StatusOr<v1::Job> job = jobs_->Get(request->job_id());
  if (!job.ok()) return ToGrpcStatus(job.status());
  int64_t sequence = request->after_sequence();
  int64_t progress_seen = 0;
  while (!context->IsCancelled() && !stopping_) {
    const absl::StatusOr<JobTable::Events> news =
        jobs_->WaitForEvents(job->id(), sequence, &progress_seen, absl::Now() + kWatchCheck);
    if (!news.ok()) return ToGrpcStatus(news.status());
    for (const v1::JobEvent& event : news->events) {
      if (!writer->Write(event)) return grpc::Status::CANCELLED;
      if (!event.has_progress()) sequence = event.sequence();
    }
    if (news->ended) return grpc::Status::OK;
  }
  return stopping_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon shuts down")
                   : grpc::Status::CANCELLED;
}

grpc::Status ChiefTrainerService::Cancel(grpc::ServerContext*, const v1::CancelRequest* request,
                                         v1::Job* response) {
  absl::StatusOr<v1::Job> job = jobs_->Cancel(request->job_id());
  if (job.ok()) *response = *std::move(job);
  return ToGrpcStatus(job.status());
}

grpc::Status ChiefTrainerService::GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                                         v1::Job* response) {
  absl::StatusOr<v1::Job> job = jobs_->Get(request->job_id());
  if (job.ok()) *response = *std::move(job);
  return ToGrpcStatus(job.status());
}

grpc::Status ChiefTrainerService::ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                                           v1::ListJobsResponse* response) {
  for (v1::Job& job : jobs_->List()) *response->add_jobs() = std::move(job);
  return grpc::Status::OK;
}

grpc::Status ChiefTrainerService::DescribeCluster(grpc::ServerContext*, const v1::DescribeClusterRequest*,
                                                  v1::Cluster* response) {
  *response = chief_->Describe(names_);
  return grpc::Status::OK;
}

ForwardingTrainerService::ForwardingTrainerService(const std::string& chief_address,
                                                   std::function<absl::Status()> chief_status,
                                                   std::function<v1::Cluster()> describe_own_view)
    : chief_address_(chief_address),
      chief_status_(std::move(chief_status)),
      describe_own_view_(std::move(describe_own_view)),
      chief_(v1::Trainer::NewStub(MakeControlChannel(chief_address))) {}

grpc::Status ForwardingTrainerService::ChiefUnreachable(absl::string_view detail) const {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE,
                      absl::StrCat("rank 0 (", chief_address_, ") cannot be reached: ", detail));
}

template <typename Request, typename Response>
grpc::Status ForwardingTrainerService::Forward(grpc::ServerContext* context,
                                               grpc::Status (v1::Trainer::Stub::*method)(grpc::ClientContext*,
                                                                                         const Request&,
                                                                                         Response*),
                                               const Request& request, Response* response) {
  // Known at once: no need to wait for a call to find out.
  if (const absl::Status chief = chief_status_(); !chief.ok()) return ChiefUnreachable(chief.message());
  grpc::ClientContext to_chief;
  to_chief.set_deadline(std::min(context->deadline(), absl::ToChronoTime(absl::Now() + kForwardDeadline)));
  const grpc::Status status = ((*chief_).*method)(&to_chief, request, response);
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return status;
  return ChiefUnreachable(status.error_message());
}

grpc::Status ForwardingTrainerService::Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                                              v1::SubmitResponse* response) {
  return Forward(context, &v1::Trainer::Stub::Submit, *request, response);
}

grpc::Status ForwardingTrainerService::Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                                              v1::Job* response) {
  return Forward(context, &v1::Trainer::Stub::Cancel, *request, response);
}

grpc::Status ForwardingTrainerService::GetJob(grpc::ServerContext* context, const v1::GetJobRequest* request,
                                              v1::Job* response) {
  return Forward(context, &v1::Trainer::Stub::GetJob, *request, response);
}

grpc::Status ForwardingTrainerService::ListJobs(grpc::ServerContext* context,
                                                const v1::ListJobsRequest* request,
                                                v1::ListJobsResponse* response) {
  return Forward(context, &v1::Trainer::Stub::ListJobs, *request, response);
}

grpc::Status ForwardingTrainerService::DescribeCluster(grpc::ServerContext* context,
                                                       const v1::DescribeClusterRequest* request,
                                                       v1::Cluster* response) {
  const grpc::Status status = Forward(context, &v1::Trainer::Stub::DescribeCluster, *request, response);
  if (status.ok()) return status;
  *response = describe_own_view_();
  response->set_error(status.error_message());
  return grpc::Status::OK;
}

grpc::Status ForwardingTrainerService::Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                                             grpc::ServerWriter<v1::JobEvent>* writer) {
  // Cancelled with the client's call: no watch of the chief outlives its watcher.
  const std::unique_ptr<grpc::ClientContext> to_chief = grpc::ClientContext::FromServerContext(*context);
  {
    MutexLock lock(&mutex_);
    watches_.insert(to_chief.get());
  }
  // Asked after the insertion, so that a loss in between is not missed.
  if (const absl::Status chief = chief_status_(); !chief.ok()) to_chief->TryCancel();
  const std::unique_ptr<grpc::ClientReader<v1::JobEvent>> reader = chief_->Watch(to_chief.get(), *request);
  v1::JobEvent event;
  while (reader->Read(&event)) {
    if (writer->Write(event)) continue;
    to_chief->TryCancel();
    break;
  }
  const grpc::Status status = reader->Finish();
  {
    MutexLock lock(&mutex_);
    watches_.erase(to_chief.get());
  }
  if (const absl::Status chief = chief_status_(); !chief.ok()) return ChiefUnreachable(chief.message());
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ? ChiefUnreachable(status.error_message())
                                                              : status;
}

void ForwardingTrainerService::EndWatches() {
  MutexLock lock(&mutex_);
  for (grpc::ClientContext* watch : watches_) watch->TryCancel();
}

}  // namespace lockstep

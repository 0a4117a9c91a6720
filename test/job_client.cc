#include "test/job_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "test/daemon.h"
#include "worker/control_channel.h"
#include "worker/rpc_status.h"

namespace lockstep {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(10);

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + kTestDeadline));
}

template <typename Request, typename Response>
absl::StatusOr<Response> Call(v1::Trainer::Stub* stub,
                              grpc::Status (v1::Trainer::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                        Response*),
                              const Request& request) {
  grpc::ClientContext context;
  SetDeadline(&context);
  Response response;
  RETURN_IF_ERROR(FromGrpcStatus((stub->*method)(&context, request, &response)));
  return response;
}

}  // namespace

JobClient::JobClient(const std::string& address) : stub_(v1::Trainer::NewStub(MakeControlChannel(address))) {}

absl::StatusOr<std::string> JobClient::Submit(const v1::JobSpec& spec, const std::string& request_id) {
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(request_id);
  ASSIGN_OR_RETURN(const v1::SubmitResponse response, Call(stub_.get(), &v1::Trainer::Stub::Submit, request));
  return response.job_id();
}

absl::StatusOr<v1::Job> JobClient::Cancel(const std::string& job_id) {
  v1::CancelRequest request;
  request.set_job_id(job_id);
  return Call(stub_.get(), &v1::Trainer::Stub::Cancel, request);
}

absl::StatusOr<v1::Job> JobClient::GetJob(const std::string& job_id) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  return Call(stub_.get(), &v1::Trainer::Stub::GetJob, request);
}

absl::StatusOr<v1::ListJobsResponse> JobClient::ListJobs() {
  return Call(stub_.get(), &v1::Trainer::Stub::ListJobs, v1::ListJobsRequest());
}

absl::StatusOr<v1::Cluster> JobClient::DescribeCluster() {
  return Call(stub_.get(), &v1::Trainer::Stub::DescribeCluster, v1::DescribeClusterRequest());
}

absl::StatusOr<v1::JobEvent> JobClient::AwaitEvent(const std::string& job_id,
                                                   const std::function<bool(const v1::JobEvent&)>& wanted) {
  v1::WatchRequest request;
  request.set_job_id(job_id);
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto reader = stub_->Watch(&context, request);
  v1::JobEvent event;
  while (reader->Read(&event)) {
    if (!wanted(event)) continue;
    context.TryCancel();
    reader->Finish();
    return event;
  }
  RETURN_IF_ERROR(FromGrpcStatus(reader->Finish()));
  return absl::OutOfRangeError(absl::StrCat(job_id, " has ended: ", event.ShortDebugString()));
}

absl::StatusOr<std::vector<v1::JobEvent>> JobClient::Events(const std::string& job_id) {
  std::vector<v1::JobEvent> events;
  const absl::Status ended = AwaitEvent(job_id, [&events](const v1::JobEvent& event) {
                               events.push_back(event);
                               return false;
                             }).status();
  if (!absl::IsOutOfRange(ended)) return ended;
  return events;
}

absl::Status JobClient::AwaitStep(const std::string& job_id, int64_t step) {
  return AwaitEvent(job_id,
                    [step](const v1::JobEvent& event) {
                      return event.has_progress() && event.progress().global_step() >= step;
                    })
      .status();
}

absl::Status JobClient::AwaitEpoch(const std::string& job_id, int64_t epoch) {
  return AwaitEvent(job_id,
                    [epoch](const v1::JobEvent& event) {
                      return event.has_epoch_end() && event.epoch_end().epoch() == epoch;
                    })
      .status();
}

absl::StatusOr<v1::Job> JobClient::AwaitEnd(const std::string& job_id) {
  RETURN_IF_ERROR(Events(job_id).status());
  return GetJob(job_id);
}

absl::StatusOr<v1::Job> JobClient::Run(const v1::JobSpec& spec) {
  ASSIGN_OR_RETURN(const std::string job_id, Submit(spec));
  return AwaitEnd(job_id);
}

absl::Status JobClient::AwaitComplete() {
  return AwaitCluster([](const v1::Cluster& cluster) {
    return cluster.error().empty() &&
           std::all_of(cluster.members().begin(), cluster.members().end(),
                       [](const v1::Cluster::Member& member) { return member.state() == "joined"; });
  });
}

absl::Status JobClient::AwaitDetail(int rank, const std::string& text) {
  return AwaitCluster([rank, &text](const v1::Cluster& cluster) {
    return absl::StrContains(cluster.members(rank).detail(), text);
  });
}

absl::Status JobClient::AwaitCluster(const std::function<bool(const v1::Cluster&)>& condition) {
  const absl::Time deadline = absl::Now() + kTestDeadline;
  while (true) {
    // A connection that breaks is made anew; who waits for a daemon asks again.
    const absl::StatusOr<v1::Cluster> cluster = DescribeCluster();
    if (!cluster.ok() && !absl::IsUnavailable(cluster.status())) return cluster.status();
    if (cluster.ok() && condition(*cluster)) return absl::OkStatus();
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(cluster.ok() ? cluster->ShortDebugString()
                                                      : cluster.status().ToString());
    }
    absl::SleepFor(kPoll);
  }
}

}  // namespace lockstep

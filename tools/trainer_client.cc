#include "tools/trainer_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "proto/trainer.grpc.pb.h"
#include "worker/control_channel.h"
#include "worker/host_port.h"
#include "worker/rpc_status.h"

namespace lockstep {
namespace {

// A daemon that accepted the connection answers at once, or after asking the chief.
constexpr absl::Duration kAnswerTimeout = absl::Seconds(30);
constexpr absl::Duration kSubmitAgain = absl::Milliseconds(200);

}  // namespace

struct TrainerClient::Service {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Trainer::Stub> stub;
};

absl::StatusOr<std::unique_ptr<TrainerClient>> TrainerClient::Create(const std::string& address,
                                                                     absl::Duration connect_timeout) {
  const absl::StatusOr<HostPort> target = ParseHostPort(address);
  if (!target.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--address ", Quoted(address), ": ", target.status().message()));
  }
  return std::unique_ptr<TrainerClient>(new TrainerClient(target->ToString(), connect_timeout));
}

TrainerClient::TrainerClient(const std::string& address, absl::Duration connect_timeout)
    : address_(address), connect_timeout_(connect_timeout), service_(std::make_unique<Service>()) {
  service_->channel = MakeControlChannel(address);
  service_->stub = v1::Trainer::NewStub(service_->channel);
}

TrainerClient::~TrainerClient() = default;

absl::Status TrainerClient::Connect(absl::Time deadline) {
  if (service_->channel->WaitForConnected(absl::ToChronoTime(deadline))) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("no lockstep daemon answers at ", address_, " within ",
                                             absl::FormatDuration(connect_timeout_),
                                             "; is lockstepd running there? (--address, LOCKSTEP_ADDRESS)"));
}

template <typename Request, typename Response, typename Method>
absl::StatusOr<Response> TrainerClient::Call(Method method, const Request& request) {
  RETURN_IF_ERROR(Connect(absl::Now() + connect_timeout_));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kAnswerTimeout));
  Response response;
  const grpc::Status status = (service_->stub.get()->*method)(&context, request, &response);
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    return absl::UnavailableError(absl::StrCat("what answers at ", address_, " is not a lockstep daemon"));
  if (!status.ok()) return FromGrpcStatus(status);
  return response;
}

absl::StatusOr<v1::SubmitResponse> TrainerClient::Submit(const v1::JobSpec& spec,
                                                         const std::string& request_id) {
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(request_id);
  const absl::Time deadline = absl::Now() + connect_timeout_;
  while (true) {
    absl::StatusOr<v1::SubmitResponse> response =
        Call<v1::SubmitRequest, v1::SubmitResponse>(&v1::Trainer::Stub::Submit, request);
    if (!absl::IsUnavailable(response.status()) || absl::Now() + kSubmitAgain > deadline) return response;
    absl::SleepFor(kSubmitAgain);
  }
}

absl::StatusOr<v1::Job> TrainerClient::Cancel(const std::string& job_id) {
  v1::CancelRequest request;
  request.set_job_id(job_id);
  return Call<v1::CancelRequest, v1::Job>(&v1::Trainer::Stub::Cancel, request);
}

absl::StatusOr<v1::Job> TrainerClient::GetJob(const std::string& job_id) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  return Call<v1::GetJobRequest, v1::Job>(&v1::Trainer::Stub::GetJob, request);
}

absl::StatusOr<v1::ListJobsResponse> TrainerClient::ListJobs() {
  return Call<v1::ListJobsRequest, v1::ListJobsResponse>(&v1::Trainer::Stub::ListJobs, {});
}

absl::StatusOr<v1::Cluster> TrainerClient::DescribeCluster() {
  return Call<v1::DescribeClusterRequest, v1::Cluster>(&v1::Trainer::Stub::DescribeCluster, {});
}

std::unique_ptr<WatchStream> TrainerClient::Watch(const std::string& job_id, int64_t after_sequence) {
  v1::WatchRequest request;
  request.set_job_id(job_id);
  request.set_after_sequence(after_sequence);
  auto context = std::make_unique<grpc::ClientContext>();
  std::unique_ptr<grpc::ClientReader<v1::JobEvent>> reader = service_->stub->Watch(context.get(), request);
  return std::make_unique<WatchStream>(std::move(context), std::move(reader));
}

}  // namespace lockstep

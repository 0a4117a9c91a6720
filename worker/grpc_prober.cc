#include "worker/grpc_prober.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "proto/cluster.grpc.pb.h"
#include "worker/control_channel.h"

namespace lockstep {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(2);

// gRPC's texts name internals; users need the cause.
std::string Reason(const grpc::Status& status) {
  const std::string& text = status.error_message();
  if (absl::StrContains(text, "DNS query cancelled"))
    return absl::StrCat("its name does not resolve: no name server answers (", text, ")");
  if (absl::StrContains(text, "DNS") || absl::StrContains(text, "resol"))
    return absl::StrCat("its name does not resolve (", text, ")");
  if (absl::StrContains(text, "refused")) return "connection refused: no process listens there";
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    return absl::StrCat("no answer within ", absl::FormatDuration(kDeadline));
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    return "another program answers there, not lockstepd";
  return text;
}

}  // namespace

absl::StatusOr<v1::Identity> GrpcProber::Identify(const std::string& address) {
  const std::unique_ptr<v1::Membership::Stub> stub = v1::Membership::NewStub(MakeControlChannel(address));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
  v1::Identity identity;
  const grpc::Status status = stub->Identify(&context, v1::IdentifyRequest(), &identity);
  if (!status.ok()) return absl::UnavailableError(Reason(status));
  return identity;
}

}  // namespace lockstep

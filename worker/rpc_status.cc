#include "worker/rpc_status.h"

#include <algorithm>
#include <string>

namespace lockstep {
namespace {

// Status messages travel in HTTP/2 trailers, which peers may cut at 8 KiB with everything else in them.
constexpr size_t kMostMessageBytes = 6000;

}  // namespace

// The numbers of both enums are those of google.rpc.Code.
grpc::Status ToGrpcStatus(const absl::Status& status) {
  const std::string message(status.message().substr(0, kMostMessageBytes));
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), message);
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace lockstep

// absl::Status <-> grpc::Status: code and message one to one.
#ifndef LOCKSTEP_WORKER_RPC_STATUS_H_
#define LOCKSTEP_WORKER_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace lockstep {

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_RPC_STATUS_H_

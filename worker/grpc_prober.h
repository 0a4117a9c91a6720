// Asks the process at a rank's address who it is. Thread-safe.
#ifndef LOCKSTEP_WORKER_GRPC_PROBER_H_
#define LOCKSTEP_WORKER_GRPC_PROBER_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/chief.h"

namespace lockstep {

class GrpcProber : public Prober {
 public:
  // At most two seconds. The error says why nobody answers: name not found, refused, timeout, not a lockstep
  // daemon.
  absl::StatusOr<v1::Identity> Identify(const std::string& address) override;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_GRPC_PROBER_H_

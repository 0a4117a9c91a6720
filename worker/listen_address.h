// The address a daemon listens on: checked before gRPC is asked, so that the user learns what is wrong.
#ifndef LOCKSTEP_WORKER_LISTEN_ADDRESS_H_
#define LOCKSTEP_WORKER_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/host_port.h"

namespace lockstep {

enum class NetworkTrust {
  kLoopbackOnly,  // plain text must not leave the machine
  kInsecure,      // the user takes the network for trusted (--insecure_network)
};

// Resolves the target (port 0: a free one is chosen) to a numeric address and checks that this process may
// and can listen there. A name that does not resolve yet is tried again until the deadline. Errors:
// PERMISSION_DENIED the address is not loopback and `trust` does not allow it. UNAVAILABLE the name does not
// resolve. FAILED_PRECONDITION the port is taken, or the address is not this machine's.
absl::StatusOr<std::string> ResolveListenAddress(const HostPort& target, NetworkTrust trust,
                                                 absl::Time deadline);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_LISTEN_ADDRESS_H_

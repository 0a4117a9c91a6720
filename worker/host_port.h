// Addresses of peers: "host:port", "10.0.0.7:5301", "[2001:db8::7]:5301".
#ifndef LOCKSTEP_WORKER_HOST_PORT_H_
#define LOCKSTEP_WORKER_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

struct HostPort {
  // In one spelling per host: names in lower case without a final dot, IPv6 in its shortest form without
  // brackets. Equal hosts compare equal.
  std::string host;
  int port = 0;  // 1 to 65535

  // For dialling and for comparing. IPv6 in brackets.
  std::string ToString() const;

  friend bool operator==(const HostPort& a, const HostPort& b) {
    return a.host == b.host && a.port == b.port;
  }
};

// Resolves nothing: a name is only checked for its form.
// Errors:
//   INVALID_ARGUMENT: what is wrong with `address`, without naming it ("the port 70000 is not between 1 and
//     65535"), so that the caller can put the place and the value in front.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view address);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_HOST_PORT_H_

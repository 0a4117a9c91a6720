// The congestion control algorithm of this process's TCP connections over loopback.
//
// Where bbr is the system's default, its pacing halves the throughput of loopback (2 ranks, 256 MB: 154 ms,
// with reno 75 ms). On a real network the system's choice stays.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_LOOPBACK_CONGESTION_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_LOOPBACK_CONGESTION_H_

#include <string>

#include "absl/status/statusor.h"

namespace lockstep {

// Sets the algorithm (a name of /proc/sys/net/ipv4/tcp_allowed_congestion_control) on all connections that
// exist now and whose both ends are loopback addresses. Returns their number.
// Errors: INVALID_ARGUMENT if the system does not allow the algorithm.
absl::StatusOr<int> SetLoopbackCongestionControl(const std::string& algorithm);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_LOOPBACK_CONGESTION_H_

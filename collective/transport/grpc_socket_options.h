// Socket options of gRPC's connections, of both ends and whatever the credentials.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_SOCKET_OPTIONS_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_SOCKET_OPTIONS_H_

#include <string>

#include "absl/status/status.h"

namespace grpc {
class ChannelArguments;
class ServerBuilder;
}  // namespace grpc

namespace lockstep {

struct SocketOptions {
  // Of TCP connections, such as "reno" or "dctcp"; empty: the system's default.
  std::string congestion_control;
  // SO_SNDBUF of unix-domain sockets. The system's default holds 208 KiB, less than one frame, so that
  // sender and receiver take turns. TCP grows its own buffers: there nothing was gained.
  int unix_send_buffer_bytes = 1 << 20;
};

// INVALID_ARGUMENT with the names that this system allows, if it does not have `name`.
absl::Status CheckCongestionControl(const std::string& name);

// Connections made with `arguments`, or accepted by the server, get the options. One that cannot be set is
// left as it was.
void ApplySocketOptions(const SocketOptions& options, grpc::ChannelArguments* arguments);
void ApplySocketOptions(const SocketOptions& options, grpc::ServerBuilder* builder);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_SOCKET_OPTIONS_H_

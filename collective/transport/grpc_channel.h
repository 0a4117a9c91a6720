// How peers are reached: the one place that decides about credentials, limits and keepalive of both ends.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CHANNEL_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CHANNEL_H_

#include <memory>
#include <string>

#include "collective/transport/grpc_transport.h"

namespace grpc {
class Channel;
class ServerBuilder;
}  // namespace grpc

namespace lockstep {

// A channel to `target`, HOST:PORT or one of UnixTargetOf, that ignores proxies, keeps itself alive and
// reconnects within a second.
std::shared_ptr<grpc::Channel> MakePeerChannel(const std::string& target,
                                               const GrpcTransportOptions& options);

// The matching settings of a server, which listens for the peers of its host, too, if options.own_address
// tells how they find it.
void ConfigurePeerServer(const GrpcTransportOptions& options, grpc::ServerBuilder* builder);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CHANNEL_H_

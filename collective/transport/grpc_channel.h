// How peers are reached: the one place that decides about credentials, limits and keepalive of both ends.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CHANNEL_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CHANNEL_H_

#include <memory>
#include <string>

#include "base/file_descriptor.h"
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

// The matching settings of a server.
void ConfigurePeerServer(const GrpcTransportOptions& options, grpc::ServerBuilder* builder);

// Makes the server listen for the peers of its host too, as long as the result lives. Invalid if another
// process has the name: they use TCP then.
FileDescriptor ListenForLocalPeers(const std::string& own_address, grpc::ServerBuilder* builder);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CHANNEL_H_

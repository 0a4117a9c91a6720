#include "collective/transport/grpc_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include "base/logging.h"
#include "collective/transport/grpc_socket_options.h"
#include "collective/transport/unix_address.h"

namespace lockstep {
namespace {

// The largest frame_bytes, and room for the header or a farewell: what either end accepts, so that ranks may
// differ in frame_bytes. Explicit, because the default is 4 MiB including the header.
constexpr int kMaxMessageBytes = (4 << 20) + (128 << 10);

constexpr int kMinBackoffMs = 100;
constexpr int kMaxBackoffMs = 1000;
// How long a peer may take to answer an attempt to connect: a busy one takes its time.
constexpr int kAnswerTimeoutMs = 5000;

int Milliseconds(absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); }

// Plain text; TLS credentials go here.
std::shared_ptr<grpc::ChannelCredentials> PeerCredentials() { return grpc::InsecureChannelCredentials(); }
std::shared_ptr<grpc::ServerCredentials> PeerServerCredentials() { return grpc::InsecureServerCredentials(); }

}  // namespace

std::shared_ptr<grpc::Channel> MakePeerChannel(const std::string& target,
                                               const GrpcTransportOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kMinBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kAnswerTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxBackoffMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  // Probes go on however long nothing else is sent; between jobs there are none.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  // Connections are this service's own, not shared with other channels of the process.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  ApplySocketOptions(options.socket, &arguments);
  return grpc::CreateCustomChannel(target, PeerCredentials(), arguments);
}

void ConfigurePeerServer(const GrpcTransportOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder->SetMaxSendMessageSize(kMaxMessageBytes);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_interval));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Never "too many pings": the default is to close a connection that is probed every few seconds.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 100);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  ApplySocketOptions(options.socket, builder);
}

FileDescriptor ListenForLocalPeers(const std::string& own_address, grpc::ServerBuilder* builder) {
  const std::string target = UnixTargetOf(own_address);
  FileDescriptor claim = Claim(target);
  if (claim.valid()) {
    builder->AddListeningPort(target, PeerServerCredentials());
  } else {
    // With a name that is taken the server would not start at all.
    LOG(WARNING) << "another process listens under " << target << ": peers of this host will use TCP";
  }
  return claim;
}

}  // namespace lockstep

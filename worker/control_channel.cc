#include "worker/control_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "worker/grpc_lifetime.h"

namespace lockstep {
namespace {

// A job's specification or summary is small; this leaves room for long histories.
constexpr int kMostMessageBytes = 64 << 20;

}  // namespace

std::shared_ptr<grpc::Channel> MakeControlChannel(const std::string& address, absl::Duration patience) {
  KeepGrpcInitialized();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Also how long a peer may take to answer an attempt: a busy one takes its time.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A name that does not resolve yet is asked for again soon (the default is 30 s).
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  // A name server that is silent is told from a peer that is: shorter than a probe's deadline (the default is
  // 120 s).
  arguments.SetInt(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, 1000);
  // Channels of one process share connections by default; a peer that came back must not inherit a broken
  // one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Daemons accept any ping interval.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(absl::ToInt64Milliseconds(patience)));
  arguments.SetMaxReceiveMessageSize(kMostMessageBytes);
  arguments.SetMaxSendMessageSize(kMostMessageBytes);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace lockstep

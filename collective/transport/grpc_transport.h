// The transport between processes: one stream of Collective.Exchange per pair of ranks.
//
// A GrpcTransportService lives as long as the daemon's gRPC server and carries the groups of all jobs; each
// Connect forms one group. One thread owns the completion queue of both the server's and the clients' calls:
// it receives, and adds what it receives straight from gRPC's memory to the caller's buffers. Channels are
// kept from job to job.
//
// Life of a group: higher ranks call lower ones; both ends say hello (job, generation, ranks, world size). A
// call of a peer that is ahead waits for its group to be created here. When the transport is destroyed, or
// its group fails, each stream gets a farewell with the reason, so that all ranks learn the same root cause.
//
//   GrpcTransportService service(options);
//   service.RegisterWith(&builder);
//   auto server = builder.BuildAndStart();
//   service.Start();
//   ... service.Connect(group, deadline, ...) ...
//   server->Shutdown(deadline);   // after all transports are destroyed
//   service.Shutdown();
//
// Thread-safe, except for RegisterWith and Start.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_TRANSPORT_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collective/transport/grpc_socket_options.h"
#include "collective/transport/transport.h"

namespace grpc {
class ServerBuilder;
}

namespace lockstep {

struct GrpcTransportOptions {
  // HOST:PORT under which the peers know this daemon. Peers of the same host reach it through a unix-domain
  // socket then (unix_address.h); empty: through TCP like all others.
  std::string own_address;
  SocketOptions socket;
  // Largest payload of one frame; longer messages are sent in several. 1 MiB was the best message size over
  // TCP, 256 and 512 KiB were 2 to 8 % slower. At most 4 MiB, a multiple of 8; may differ between ranks.
  size_t frame_bytes = size_t{1} << 20;
  // What a peer may send before it is received here; beyond either limit its stream is not read, and the
  // peer is held up by flow control. More than the two segments per peer that an all-reduce has under way.
  size_t max_unexpected_frames = 256;
  size_t max_unexpected_bytes = size_t{32} << 20;
  // How long after the last event a thread that waits, and has nothing else to do, polls before it sleeps.
  // Waking up takes longer than most messages of a small all-reduce: with two ranks over TCP 1 KB took 29-36
  // us without polling, 17-20 with 100 us or more.
  absl::Duration poll_time = absl::Microseconds(200);
  // How long the service's own thread stays away from the completion queue after somebody has waited: longer
  // than the pause between the operations of a step, shorter than anybody waits for a farewell.
  absl::Duration queue_lease = absl::Milliseconds(2);
  // Sends to one peer that may be queued: a backstop, the operations above keep to a few.
  size_t max_queued_sends = 4096;
  // Calls of peers whose group is not there yet, and how long they wait for it.
  size_t max_waiting_streams = 256;
  absl::Duration waiting_timeout = absl::Minutes(2);
  // How long a farewell may take to leave when a group ends; then the stream is cancelled. Long enough for
  // megabytes in flight, short enough for a frozen peer.
  absl::Duration close_grace = absl::Milliseconds(500);
  // Between attempts to reach a peer that is not there yet.
  absl::Duration retry_interval = absl::Milliseconds(100);
  // An idle connection is probed this often, and given up when the probe is not answered in time. An idle
  // job is never given up, since gRPC answers by itself; a frozen machine is. Servers accept any interval.
  absl::Duration keepalive_interval = absl::Seconds(10);
  absl::Duration keepalive_timeout = absl::Seconds(20);
};

// One rank's view of a group.
struct GroupOptions {
  uint64_t job = 0;
  int64_t generation = 0;  // at least 0; grows within a job
  int rank = 0;
  std::vector<std::string> addresses;  // HOST:PORT of each rank
  // Connections between two ranks, at most kMostLanes, the same on all of them. More than one is for links
  // that a single TCP connection does not fill.
  int connections = 1;
};

class GrpcTransportService {
 public:
  explicit GrpcTransportService(GrpcTransportOptions options = GrpcTransportOptions());
  ~GrpcTransportService();  // Shutdown

  // Adds the service, its completion queue and its limits (message size, pings) to a server, and a
  // unix-domain socket for peers of the same host. To be called before ports are added: whoever reaches the
  // port finds the socket as well.
  void RegisterWith(grpc::ServerBuilder* builder);
  // After BuildAndStart: begins to take calls.
  void Start();

  // Forms a group. Returns when the streams to all peers are there. The service outlives the transport.
  // Blocks until `deadline` at most.
  // Errors: DEADLINE_EXCEEDED names the ranks that are missing and the last cause; INVALID_ARGUMENT for
  // options that make no sense; FAILED_PRECONDITION if the generation is not newer than one known here, or a
  // peer says so, or the peers do not agree about the group; the status of AbortGroup.
  absl::StatusOr<std::unique_ptr<Transport>> Connect(const GroupOptions& group, absl::Time deadline);

  // Ends a group, also while it is being formed; nothing if there is none. Does not block.
  void AbortGroup(uint64_t job, int64_t generation, const absl::Status& status);

  // Ends all groups, stops the thread. All transports are destroyed, and the server is shut down, before.
  void Shutdown();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_TRANSPORT_H_

// One group of a GrpcTransportService: the peers, their streams, and what is to be sent and received.
//
// All state is guarded by the lock of the service (the host). Functions that the completion queue's thread
// calls with the lock held end in Locked; some of them release it while they add or write.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_GROUP_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_GROUP_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "collective/transport/frame_codec.h"
#include "collective/transport/grpc_outgoing_message.h"
#include "collective/transport/grpc_stream.h"
#include "collective/transport/grpc_transport.h"
#include "collective/transport/inbox.h"
#include "collective/transport/transport.h"

namespace lockstep {

// Each connection of a pair carries a group of its own: this is what it goes by.
inline GroupId IdOfConnection(const GroupId& group, int connection) {
  constexpr uint64_t kApart = 0x9e3779b97f4a7c15;  // far from any other job's number, as hashes go
  return {group.job ^ kApart * static_cast<uint64_t>(connection), group.generation};
}

// What a group needs of the service it belongs to.
class GrpcGroupHost {
 public:
  virtual ~GrpcGroupHost() = default;
  virtual Mutex* mutex() = 0;
  virtual const GrpcTransportOptions& options() const = 0;
  // Whether the daemon at `address` can be reached through a unix-domain socket.
  virtual bool IsReachedLocally(const std::string& address) const = 0;
  // Calls a peer. The host owns the stream until it is over.
  virtual GrpcStream* OpenStreamLocked(const std::string& address, int connection) = 0;
  // Works off the completion queue in the calling thread; whether `completion` was done before `deadline`.
  virtual bool DriveUntil(Completion* completion, absl::Time deadline, Waiting waiting) = 0;
  // Sets stream->deadline and sees to it that it is kept.
  virtual void SetDeadlineLocked(GrpcStream* stream, absl::Time deadline) = 0;
  // The group is over.
  virtual void ForgetLocked(GrpcGroup* group) = 0;
};

class GrpcGroup : public Transport {
 public:
  // Of the group's connections, number `connection` of each pair.
  GrpcGroup(GrpcGroupHost* host, const GroupOptions& options, int connection);
  // Says farewell, and returns when no stream is left: at once, or after close_grace if a peer is frozen.
  ~GrpcGroup() override;

  int rank() const override { return options_.rank; }
  int world_size() const override { return static_cast<int>(options_.addresses.size()); }
  void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) override;
  void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) override;
  bool Wait(Completion* completion, absl::Time deadline, Waiting waiting) override {
    return host_->DriveUntil(completion, deadline, waiting);
  }
  // Known from the start of the group to its end.
  Path PathTo(int peer) const override;
  void Abort(const absl::Status& status) override;
  absl::Status status() const override;

  const GroupId& id() const { return id_; }
  const absl::Status& StatusLocked() const { return status_; }

  // Calls the lower ranks and waits for the higher ones. Blocks.
  absl::Status Form(absl::Time deadline);

  // Takes the call of a peer whose hello has come, or tells why not.
  absl::Status AdoptLocked(GrpcStream* stream, const HelloFrame& hello);
  // Ends the group; the first status stays. `farewell` is what the peers are told.
  void EndLocked(const absl::Status& status, const absl::Status& farewell);

  // Events of this group's streams.
  void OnStartedLocked(GrpcStream* stream, bool ok);
  void OnReadLocked(GrpcStream* stream, bool ok);
  void OnWrittenLocked(GrpcStream* stream, bool ok);
  void OnFinishedLocked(GrpcStream* stream);
  void OnStreamOverLocked() { --num_streams_; }

 private:
  struct Peer {
    Peer(int rank, const std::string& address, const GrpcTransportOptions& options)
        : rank(rank),
          address(address),
          inbox(rank, address, options.max_unexpected_frames, options.max_unexpected_bytes) {}

    const int rank;
    const std::string address;
    GrpcStream* stream = nullptr;
    bool connected = false;
    bool local = false;  // over a unix-domain socket
    bool left = false;   // said farewell, in order
    Inbox inbox;
    std::deque<GrpcOutgoingMessage*> outbox;  // the first one may be in flight
    absl::Time next_attempt = absl::InfinitePast();
    std::string last_cause = "has not connected";
  };

  bool Formed() const;
  bool ChangedLocked() const { return changed_; }
  bool NoReceivesLocked() const;
  bool NoStreamsLocked() const { return num_streams_ == 0; }
  absl::Time CallMissingPeersLocked();
  absl::Status MissingPeersLocked() const;
  HelloFrame HelloTo(int peer) const { return {rank(), peer, world_size()}; }
  absl::Status CheckHello(const HelloFrame& hello) const;
  bool IsCurrentLocked(const GrpcStream* stream) const;

  void OnFrameLocked(Peer* peer, GrpcStream* stream, const ParsedFrame& frame, FramePayload payload);
  void OnFarewellLocked(Peer* peer, GrpcStream* stream, const absl::Status& cause);
  void OnBrokenLocked(Peer* peer, const absl::Status& cause);
  // Lets go of the lock while it consumes. The lock is the service's, which the analysis cannot follow.
  void ConsumeLocked(Peer* peer, uint64_t tag) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ReadOnLocked(Peer* peer);
  // Starts what is due on the stream: hello, data, farewell, or the end of the call.
  void ProgressLocked(GrpcStream* stream);
  // Lets go of the lock while it writes.
  void WriteDataLocked(Peer* peer) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ReleaseOutboxLocked(Peer* peer);
  absl::Status LeftStatus(const Peer& peer) const;

  GrpcGroupHost* const host_;
  Mutex* const mutex_;
  const GroupOptions options_;
  const int connection_;
  const GroupId id_;
  SendLedger ledger_;
  std::deque<Peer> peers_;  // by rank; the own one is not used
  absl::Status status_;
  bool forming_ = true;
  bool changed_ = false;  // something that Form waits for
  int num_streams_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_GROUP_H_

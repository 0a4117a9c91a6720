// A transport with planned faults, for tests of what is built on transports.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_FAULT_TRANSPORT_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_FAULT_TRANSPORT_H_

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "collective/transport/transport.h"

namespace lockstep {

enum class FaultDirection { kSend, kReceive };

enum class FaultKind {
  kDrop,        // the operation seems to succeed, but nothing is sent (kSend) or stored (kReceive)
  kDuplicate,   // the operation is done twice
  kTruncate,    // the message is one element shorter (kSend), or expected to be (kReceive)
  kFlipBit,     // one bit of the message is changed (kSend only)
  kDisconnect,  // the connection to the peer breaks
  kHang,        // the operation never ends, unless the group is aborted
};

// What goes wrong on which operation of which rank.
struct Fault {
  static constexpr int kAnyPeer = -1;

  int rank;
  int peer = kAnyPeer;
  FaultDirection direction = FaultDirection::kSend;
  int64_t nth = 0;  // of the rank's operations with that peer and direction, from 0
  FaultKind kind = FaultKind::kDrop;
};

using FaultPlan = std::vector<Fault>;

// Thread-safe.
class FaultTransport : public Transport {
 public:
  FaultTransport(std::unique_ptr<Transport> transport, FaultPlan plan);
  ~FaultTransport() override;

  int rank() const override { return transport_->rank(); }
  int world_size() const override { return transport_->world_size(); }
  void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) override;
  void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) override;
  void Abort(const absl::Status& status) override;
  absl::Status status() const override { return transport_->status(); }

  // How many faults of the plan have happened.
  int64_t faults_injected() const;

 private:
  std::optional<FaultKind> NextFault(int peer, FaultDirection direction);
  void Hang(Completion* completion);
  void EndHanging();

  mutable Mutex mutex_;
  std::vector<int64_t> seen_ ABSL_GUARDED_BY(mutex_);  // per entry of the plan: operations that matched
  int64_t faults_injected_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Completion*> hanging_ ABSL_GUARDED_BY(mutex_);
  // What is sent in place of the caller's buffers, and the ends nobody waits for.
  std::deque<std::vector<std::byte>> payloads_ ABSL_GUARDED_BY(mutex_);
  std::deque<Completion> unobserved_ ABSL_GUARDED_BY(mutex_);

  const FaultPlan plan_;
  const std::unique_ptr<Transport> transport_;  // last: it uses payloads_ and unobserved_ until it is gone
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_FAULT_TRANSPORT_H_

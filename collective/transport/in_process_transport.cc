#include "collective/transport/in_process_transport.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "collective/peer_lost.h"
#include "collective/transport/parts_sink.h"
#include "collective/transport/transport_errors.h"

namespace lockstep {
namespace {

constexpr char kAddress[] = "in this process";

// What the ranks share: the operations that wait for their counterpart. Copying happens under the lock, so
// an abort that has the lock knows that nobody is using a buffer.
class Hub {
 public:
  explicit Hub(int world_size) : world_size_(world_size), ranks_(world_size) {}

  int world_size() const { return world_size_; }

  void Send(int from, int to, uint64_t tag, const SendParts& parts, Completion* completion) {
    MutexLock lock(&mutex_);
    const Key key{from, to, tag};
    if (absl::Status status = CheckLocked(from, to, tag, sends_.count(key) > 0); !status.ok()) {
      return completion->Finish(status);
    }
    sends_.emplace(key, PendingSend{parts, completion});
    MatchLocked(key);
  }

  void Receive(int from, int to, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) {
    MutexLock lock(&mutex_);
    const Key key{from, to, tag};
    if (absl::Status status = CheckLocked(to, from, tag, receives_.count(key) > 0); !status.ok()) {
      return completion->Finish(status);
    }
    receives_.emplace(key, PendingReceive{mode, parts, completion});
    MatchLocked(key);
  }

  void Abort(int rank, const absl::Status& status) {
    MutexLock lock(&mutex_);
    EndGroupLocked(rank, status);
  }

  void Leave(int rank) {
    MutexLock lock(&mutex_);
    FailLocked(rank, absl::CancelledError("the transport was destroyed"));
    ranks_[rank].left = true;
    for (int peer = 0; peer < world_size(); ++peer) {
      if (HasOperationWithLocked(peer, rank)) EndGroupLocked(peer, LeftStatus(rank));
    }
  }

  absl::Status status(int rank) const {
    MutexLock lock(&mutex_);
    return ranks_[rank].status;
  }

 private:
  using Key = std::tuple<int, int, uint64_t>;  // from, to, tag
  struct PendingSend {
    SendParts parts;
    Completion* completion;
  };
  struct PendingReceive {
    ReceiveMode mode;
    ReceiveParts parts;
    Completion* completion;
  };
  struct Rank {
    absl::Status status;
    bool left = false;
  };

  static absl::Status LeftStatus(int rank) { return MakePeerLostStatus(rank, kAddress, "it left the group"); }

  absl::Status CheckLocked(int rank, int peer, uint64_t tag, bool tag_in_use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ranks_[rank].status.ok()) return ranks_[rank].status;
    if (absl::Status status = CheckOperation(rank, peer, world_size(), tag, tag_in_use); !status.ok()) {
      return status;
    }
    if (ranks_[peer].left) EndGroupLocked(rank, LeftStatus(peer));
    return ranks_[rank].status;
  }

  void MatchLocked(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto send = sends_.find(key);
    const auto receive = receives_.find(key);
    if (send == sends_.end() || receive == receives_.end()) return;
    const auto [from, to, tag] = key;
    const size_t sent = send->second.parts.size_bytes();
    const size_t expected = receive->second.parts.size_bytes();
    if (sent != expected) {
      return EndGroupLocked(to, LengthMismatchStatus(from, kAddress, tag, sent, expected));
    }
    PartsSink sink(receive->second.mode, receive->second.parts);
    const SendParts& parts = send->second.parts;
    sink.Consume(parts.doubles.data(), parts.doubles.size() * sizeof(double));
    sink.Consume(parts.floats.data(), parts.floats.size() * sizeof(float));
    sink.Consume(parts.bytes.data(), parts.bytes.size());
    send->second.completion->Finish(absl::OkStatus());
    receive->second.completion->Finish(absl::OkStatus());
    sends_.erase(send);
    receives_.erase(receive);
  }

  bool HasOperationWithLocked(int rank, int peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const auto& [key, send] : sends_) {
      if (std::get<0>(key) == rank && std::get<1>(key) == peer) return true;
    }
    for (const auto& [key, receive] : receives_) {
      if (std::get<1>(key) == rank && std::get<0>(key) == peer) return true;
    }
    return false;
  }

  // Ends the rank's part in the group; as over a network, the others hear the root cause.
  void EndGroupLocked(int rank, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ranks_[rank].status.ok()) return;
    FailLocked(rank, status);
    for (int peer = 0; peer < world_size(); ++peer) {
      if (peer != rank && !ranks_[peer].left) FailLocked(peer, EndedByPeerStatus(rank, kAddress, status));
    }
  }

  // Ends the rank's own operations; the first status stays.
  void FailLocked(int rank, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ranks_[rank].status.ok()) ranks_[rank].status = status;
    for (auto it = sends_.begin(); it != sends_.end();) {
      if (std::get<0>(it->first) != rank) {
        ++it;
        continue;
      }
      it->second.completion->Finish(ranks_[rank].status);
      it = sends_.erase(it);
    }
    for (auto it = receives_.begin(); it != receives_.end();) {
      if (std::get<1>(it->first) != rank) {
        ++it;
        continue;
      }
      it->second.completion->Finish(ranks_[rank].status);
      it = receives_.erase(it);
    }
  }

  const int world_size_;
  mutable Mutex mutex_;
  std::vector<Rank> ranks_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, PendingSend> sends_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, PendingReceive> receives_ ABSL_GUARDED_BY(mutex_);
};

class InProcessTransport : public Transport {
 public:
  InProcessTransport(std::shared_ptr<Hub> hub, int rank, int world_size)
      : hub_(std::move(hub)), rank_(rank), world_size_(world_size) {}
  ~InProcessTransport() override { hub_->Leave(rank_); }

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

  void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) override {
    hub_->Send(rank_, peer, tag, parts, completion);
  }
  void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) override {
    hub_->Receive(peer, rank_, tag, mode, parts, completion);
  }
  void Abort(const absl::Status& status) override { hub_->Abort(rank_, status); }
  absl::Status status() const override { return hub_->status(rank_); }

 private:
  const std::shared_ptr<Hub> hub_;
  const int rank_;
  const int world_size_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> MakeInProcessGroup(int world_size) {
  CHECK_GE(world_size, 1);
  auto hub = std::make_shared<Hub>(world_size);
  std::vector<std::unique_ptr<Transport>> group;
  for (int rank = 0; rank < world_size; ++rank) {
    group.push_back(std::make_unique<InProcessTransport>(hub, rank, world_size));
  }
  return group;
}

}  // namespace lockstep

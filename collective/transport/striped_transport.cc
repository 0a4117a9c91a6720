#include "collective/transport/striped_transport.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

constexpr absl::Duration kCheckInterval = absl::Milliseconds(100);

class StripedTransport : public Transport {
 public:
  explicit StripedTransport(std::vector<std::unique_ptr<Transport>> lanes) : lanes_(std::move(lanes)) {}

  int rank() const override { return lanes_[0]->rank(); }
  int world_size() const override { return lanes_[0]->world_size(); }

  void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) override {
    LaneOf(tag)->Send(peer, tag, parts, completion);
  }
  void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) override {
    LaneOf(tag)->Receive(peer, tag, mode, parts, completion);
  }
  // Whoever waits does the work of all lanes.
  bool Wait(Completion* completion, absl::Time deadline, Waiting waiting) override {
    while (true) {
      const absl::Time check = std::min(deadline, absl::Now() + kCheckInterval);
      if (lanes_[0]->Wait(completion, check, waiting)) return true;
      if (const absl::Status error = status(); !error.ok()) Abort(error);
      if (absl::Now() >= deadline) return completion->done();
    }
  }
  int OriginalRank(int rank) const override { return lanes_[0]->OriginalRank(rank); }
  Path PathTo(int peer) const override { return lanes_[0]->PathTo(peer); }
  absl::Time Now() const override { return lanes_[0]->Now(); }

  void Abort(const absl::Status& status) override {
    // The first error of any lane is the cause that the peers hear of on all of them.
    const absl::Status first = this->status();
    for (const std::unique_ptr<Transport>& lane : lanes_) lane->Abort(first.ok() ? status : first);
  }

  absl::Status status() const override {
    for (const std::unique_ptr<Transport>& lane : lanes_) {
      if (absl::Status status = lane->status(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  // Consecutive segments, and consecutive steps, take turns.
  Transport* LaneOf(uint64_t tag) const { return lanes_[(tag ^ tag >> 20) % lanes_.size()].get(); }

  const std::vector<std::unique_ptr<Transport>> lanes_;
};

}  // namespace

std::unique_ptr<Transport> MakeStripedTransport(std::vector<std::unique_ptr<Transport>> lanes) {
  return std::make_unique<StripedTransport>(std::move(lanes));
}

}  // namespace lockstep

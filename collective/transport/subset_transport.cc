#include "collective/transport/subset_transport.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "collective/transport/transport_errors.h"

namespace lockstep {
namespace {

constexpr int kNumberShift = 62;

class SubsetTransport : public Transport {
 public:
  SubsetTransport(Transport* whole, std::vector<int> ranks, int number)
      : whole_(whole),
        ranks_(std::move(ranks)),
        rank_(static_cast<int>(std::find(ranks_.begin(), ranks_.end(), whole->rank()) - ranks_.begin())),
        apart_(static_cast<uint64_t>(number) << kNumberShift) {
    CHECK_LT(rank_, world_size());
  }

  int rank() const override { return rank_; }
  int world_size() const override { return static_cast<int>(ranks_.size()); }
  int OriginalRank(int rank) const override { return whole_->OriginalRank(ranks_[rank]); }
  Path PathTo(int peer) const override { return whole_->PathTo(ranks_[peer]); }

  void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) override {
    if (absl::Status status = CheckOperation(rank_, peer, world_size(), tag, false); !status.ok())
      return completion->Finish(status);
    whole_->Send(ranks_[peer], tag | apart_, parts, completion);
  }
  void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) override {
    if (absl::Status status = CheckOperation(rank_, peer, world_size(), tag, false); !status.ok())
      return completion->Finish(status);
    whole_->Receive(ranks_[peer], tag | apart_, mode, parts, completion);
  }
  bool Wait(Completion* completion, absl::Time deadline, Waiting waiting) override {
    return whole_->Wait(completion, deadline, waiting);
  }
  absl::Time Now() const override { return whole_->Now(); }
  void Abort(const absl::Status& status) override { whole_->Abort(status); }
  absl::Status status() const override { return whole_->status(); }

 private:
  Transport* const whole_;
  const std::vector<int> ranks_;
  const int rank_;
  const uint64_t apart_;
};

}  // namespace

std::unique_ptr<Transport> MakeSubsetTransport(Transport* whole, std::vector<int> ranks, int number) {
  CHECK(number >= 1 && number <= kMostSubsets) << number;
  return std::make_unique<SubsetTransport>(whole, std::move(ranks), number);
}

}  // namespace lockstep

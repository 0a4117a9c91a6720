#include "collective/mesh_all_reduce.h"

#include <deque>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collective/chunked_buffers.h"
#include "collective/sum_in_order.h"

namespace lockstep {
namespace {

// The two hops.
constexpr int kCollect = Exchange::kCollectStep;
constexpr int kSpread = Exchange::kSpreadStep;

class MeshAllReducer {
 public:
  MeshAllReducer(const ReduceBuffers& buffers, Exchange* exchange)
      : n_(exchange->world_size()),
        cut_(buffers, n_, exchange->options().segment_bytes),
        segment_bytes_(exchange->options().segment_bytes),
        window_(exchange->options().window),
        scratch_(exchange->Scratch(n_ > 2 ? window_ * segment_bytes_ : 0)),
        exchange_(exchange) {}

  // Waits in the order in which segments were posted, which is the same on all ranks.
  absl::Status Run() {
    RETURN_IF_ERROR(exchange_->CheckNumSegments(cut_.num_segments()));
    int64_t next_segment = 0;
    while (true) {
      while (under_way_.size() < window_ && next_segment < cut_.num_segments()) {
        under_way_.push_back(std::make_unique<Segment>(next_segment++, n_));
        Collect(under_way_.back().get());
      }
      if (under_way_.empty()) return absl::OkStatus();
      std::unique_ptr<Segment>& segment = under_way_.front();
      if (!segment->spreading) {
        RETURN_IF_ERROR(SumCollected(segment.get()));
        RETURN_IF_ERROR(Spread(segment.get()));
        under_way_.push_back(std::move(segment));
      } else {
        RETURN_IF_ERROR(AwaitSpread(segment.get()));
      }
      under_way_.pop_front();
    }
  }

 private:
  struct Segment {
    Segment(int64_t index, int n)
        : index(index),
          collect_sends(new Completion[n]),
          collect_receives(new Completion[n]),
          spread_sends(new Completion[n]),
          spread_receives(new Completion[n]) {}
    const int64_t index;
    bool spreading = false;
    // By distance of the peer, 1 .. n-1.
    std::unique_ptr<Completion[]> collect_sends, collect_receives, spread_sends, spread_receives;
  };

  int rank() const { return exchange_->rank(); }
  int Peer(int distance) const { return (rank() + distance) % n_; }
  ReduceBuffers Part(int chunk, const Segment* segment) const { return cut_.Segment(chunk, segment->index); }
  MessagePosition At(int distance, int step, const Segment* segment) const {
    return {Peer(distance), step, segment->index};
  }

  // Where the parts of the others are summed. With one other the order does not matter: in place.
  ReduceBuffers Collected(const Segment* segment) const {
    const ReduceBuffers own = Part(rank(), segment);
    if (n_ == 2) return own;
    return PlaceIn(&scratch_[(segment->index % window_) * segment_bytes_], own);
  }

  void Collect(Segment* segment) {
    ReceiveFrom(1, segment);
    for (int distance = 1; distance < n_; ++distance) {
      Send(distance, kCollect, Part(Peer(distance), segment), segment, &segment->collect_sends[distance]);
    }
  }

  // One after the other, in the order of the sum.
  void ReceiveFrom(int distance, Segment* segment) {
    const ReceiveMode mode = distance == 1 && n_ > 2 ? ReceiveMode::kOverwrite : ReceiveMode::kAdd;
    Receive(distance, kCollect, mode, Collected(segment), segment, &segment->collect_receives[distance]);
  }

  absl::Status SumCollected(Segment* segment) {
    const ReduceBuffers own = Part(rank(), segment);
    if (SizeBytes(own) == 0) return absl::OkStatus();
    for (int distance = 1; distance < n_; ++distance) {
      if (distance > 1) ReceiveFrom(distance, segment);
      RETURN_IF_ERROR(exchange_->WaitReceived(At(distance, kCollect, segment), SizeBytes(own),
                                              &segment->collect_receives[distance]));
    }
    if (n_ == 2) return absl::OkStatus();
    const ReduceBuffers others = Collected(segment);
    SumInOrder({others.doubles.data(), own.doubles.data()}, own.doubles.size(), own.doubles.data());
    SumInOrder({others.floats.data(), own.floats.data()}, own.floats.size(), own.floats.data());
    return absl::OkStatus();
  }

  absl::Status Spread(Segment* segment) {
    segment->spreading = true;
    for (int distance = 1; distance < n_; ++distance) {
      Send(distance, kSpread, Part(rank(), segment), segment, &segment->spread_sends[distance]);
    }
    for (int distance = 1; distance < n_; ++distance) {
      // What comes overwrites what was sent.
      RETURN_IF_ERROR(WaitSent(distance, kCollect, Part(Peer(distance), segment), segment,
                               &segment->collect_sends[distance]));
      Receive(distance, kSpread, ReceiveMode::kOverwrite, Part(Peer(distance), segment), segment,
              &segment->spread_receives[distance]);
    }
    return absl::OkStatus();
  }

  absl::Status AwaitSpread(Segment* segment) {
    for (int distance = 1; distance < n_; ++distance) {
      const ReduceBuffers part = Part(Peer(distance), segment);
      if (SizeBytes(part) > 0) {
        RETURN_IF_ERROR(exchange_->WaitReceived(At(distance, kSpread, segment), SizeBytes(part),
                                                &segment->spread_receives[distance]));
      }
      RETURN_IF_ERROR(
          WaitSent(distance, kSpread, Part(rank(), segment), segment, &segment->spread_sends[distance]));
    }
    return absl::OkStatus();
  }

  // Empty parts do not travel.
  void Send(int distance, int step, const ReduceBuffers& part, Segment* segment, Completion* completion) {
    if (SizeBytes(part) == 0) return;
    exchange_->Send(At(distance, step, segment), {part.doubles, part.floats, {}}, completion);
  }
  void Receive(int distance, int step, ReceiveMode mode, const ReduceBuffers& part, Segment* segment,
               Completion* completion) {
    if (SizeBytes(part) == 0) return;
    exchange_->Receive(At(distance, step, segment), mode, {part.doubles, part.floats, {}}, completion);
  }
  absl::Status WaitSent(int distance, int step, const ReduceBuffers& part, Segment* segment,
                        Completion* completion) {
    if (SizeBytes(part) == 0) return absl::OkStatus();
    return exchange_->WaitSent(At(distance, step, segment), completion);
  }

  const int n_;
  const ChunkedBuffers cut_;
  const size_t segment_bytes_;
  const size_t window_;
  const absl::Span<std::byte> scratch_;
  Exchange* const exchange_;
  std::deque<std::unique_ptr<Segment>> under_way_;
};

}  // namespace

absl::Status MeshAllReduce(const ReduceBuffers& buffers, Exchange* exchange) {
  if (exchange->world_size() == 1) return absl::OkStatus();
  return MeshAllReducer(buffers, exchange).Run();
}

}  // namespace lockstep

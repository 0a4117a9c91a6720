#include "collective/compressed_all_reduce.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "collective/chunked_buffers.h"
#include "collective/half.h"
#include "collective/sum_in_order.h"

namespace lockstep {
namespace {

// One segment is summed while the next one travels.
constexpr int64_t kLeastWindow = 2;

// Of floats of one segment for all peers together: what is kept in encoded form grows with the ranks.
constexpr size_t kMostSegmentsBytes = size_t{4} << 20;
constexpr size_t kLeastSegmentBytes = size_t{4} << 10;

size_t SegmentBytes(size_t most, int world_size) {
  constexpr size_t kAlignment = AlignedBytes::kAlignment;
  const size_t bytes =
      std::max(kLeastSegmentBytes, kMostSegmentsBytes / world_size / kAlignment * kAlignment);
  return std::min(most, bytes);
}

class CompressedAllReducer {
 public:
  CompressedAllReducer(const ReduceBuffers& buffers, Exchange* exchange)
      : n_(exchange->world_size()),
        compression_(exchange->options().compression),
        segment_bytes_(SegmentBytes(exchange->options().segment_bytes, n_)),
        slot_bytes_(AlignedSize(segment_bytes_)),
        window_(std::max<int64_t>(kLeastWindow, exchange->options().window)),
        cut_(buffers, n_, segment_bytes_),
        exchange_(exchange),
        scratch_(exchange->Scratch(window_ * kNumSlots(n_) * slot_bytes_)) {}

  // Waits in the order in which segments were posted, which is the same on all ranks.
  absl::Status Run() {
    const int64_t num_segments = cut_.num_segments();
    RETURN_IF_ERROR(exchange_->CheckNumSegments(num_segments));
    for (int64_t next = 0; next < num_segments + window_; ++next) {
      std::unique_ptr<Segment>& place = under_way_[next % window_];
      if (place != nullptr) RETURN_IF_ERROR(Finish(place.get()));
      place = nullptr;
      if (next < num_segments) {
        place = std::make_unique<Segment>(next, n_);
        Collect(place.get());
      }
      // While this one travels, the one before is summed.
      if (next > 0 && next <= num_segments) RETURN_IF_ERROR(Reduce(under_way_[(next - 1) % window_].get()));
    }
    return absl::OkStatus();
  }

 private:
  // Each with one peer, by its distance.
  enum Kind { kCollectSend, kCollectReceive, kSpreadSend, kSpreadReceive, kNumKinds };

  struct Segment {
    Segment(int64_t index, int n) : index(index), completions(kNumKinds * n) {}
    const int64_t index;
    std::vector<Completion> completions;
  };

  // Of a segment in encoded form: to and from each other rank, of the contributions and of the sums. The own
  // contribution is not sent, the own sum is sent to all from one place.
  static constexpr size_t kNumSlots(int n) { return static_cast<size_t>(3 * (n - 1) + 2); }

  int Peer(int distance) const { return (exchange_->rank() + distance) % n_; }
  ReduceBuffers Part(int distance, const Segment* segment) const {
    return cut_.Segment(Peer(distance), segment->index);
  }
  Completion* At(Kind kind, int distance, Segment* segment) const {
    return &segment->completions[kind * n_ + distance];
  }
  MessagePosition Position(Kind kind, int distance, const Segment* segment) const {
    const bool collect = kind == kCollectSend || kind == kCollectReceive;
    return {Peer(distance), collect ? Exchange::kCollectStep : Exchange::kSpreadStep, segment->index};
  }

  // Memory of a slot: doubles as `like` has them, in front of its floats in 16 bits.
  struct Slot {
    absl::Span<double> doubles;
    absl::Span<uint16_t> halves;
    absl::Span<std::byte> bytes() const {
      return absl::MakeSpan(reinterpret_cast<std::byte*>(halves.data()), halves.size() * sizeof(uint16_t));
    }
  };
  Slot SlotOf(size_t index, const Segment* segment, const ReduceBuffers& like) const {
    std::byte* const memory =
        scratch_.data() + ((segment->index % window_) * kNumSlots(n_) + index) * slot_bytes_;
    auto* const doubles = reinterpret_cast<double*>(memory);
    auto* const halves = reinterpret_cast<uint16_t*>(doubles + like.doubles.size());
    return {{doubles, like.doubles.size()}, {halves, like.floats.size()}};
  }
  Slot ContributionTo(int distance, const Segment* segment) const {
    return SlotOf(3 * (distance - 1), segment, Part(distance, segment));
  }
  Slot ContributionFrom(int distance, const Segment* segment) const {
    return SlotOf(3 * (distance - 1) + 1, segment, Part(0, segment));
  }
  Slot SumOf(int distance, const Segment* segment) const {
    const size_t index = distance == 0 ? 3 * (n_ - 1) : 3 * (distance - 1) + 2;
    return SlotOf(index, segment, Part(distance, segment));
  }
  // Where the contributions of the others are summed; as long as the floats themselves.
  ReduceBuffers Collected(const Segment* segment) const {
    std::byte* const memory =
        scratch_.data() + ((segment->index % window_) * kNumSlots(n_) + 3 * (n_ - 1) + 1) * slot_bytes_;
    return PlaceIn(memory, Part(0, segment));
  }

  // Sends the own contributions to the chunks of the others.
  void Collect(Segment* segment) {
    const ReduceBuffers own = Part(0, segment);
    for (int distance = 1; distance < n_; ++distance) {
      if (SizeBytes(own) > 0) {
        const Slot from = ContributionFrom(distance, segment);
        exchange_->Receive(Position(kCollectReceive, distance, segment), ReceiveMode::kOverwrite,
                           {from.doubles, {}, from.bytes()}, At(kCollectReceive, distance, segment));
      }
      const ReduceBuffers part = Part(distance, segment);
      if (SizeBytes(part) == 0) continue;
      const Slot to = ContributionTo(distance, segment);
      Encode(compression_, part.floats, to.halves);
      exchange_->Send(Position(kCollectSend, distance, segment), {part.doubles, {}, to.bytes()},
                      At(kCollectSend, distance, segment));
    }
  }

  // Sums the own chunk, and sends it to all.
  absl::Status Reduce(Segment* segment) {
    const ReduceBuffers own = Part(0, segment);
    if (SizeBytes(own) > 0) {
      RETURN_IF_ERROR(SumContributions(own, segment));
      const Slot sum = SumOf(0, segment);
      Encode(compression_, own.floats, sum.halves);
      Decode(compression_, sum.halves, own.floats);
      for (int distance = 1; distance < n_; ++distance) {
        exchange_->Send(Position(kSpreadSend, distance, segment), {own.doubles, {}, sum.bytes()},
                        At(kSpreadSend, distance, segment));
      }
    }
    for (int distance = 1; distance < n_; ++distance) {
      const ReduceBuffers part = Part(distance, segment);
      if (SizeBytes(part) == 0) continue;
      // What comes overwrites the doubles that were sent.
      RETURN_IF_ERROR(exchange_->WaitSent(Position(kCollectSend, distance, segment),
                                          At(kCollectSend, distance, segment)));
      exchange_->Receive(Position(kSpreadReceive, distance, segment), ReceiveMode::kOverwrite,
                         {part.doubles, {}, SumOf(distance, segment).bytes()},
                         At(kSpreadReceive, distance, segment));
    }
    return absl::OkStatus();
  }

  // In ring order: beginning with the next rank, the own one last.
  absl::Status SumContributions(const ReduceBuffers& own, Segment* segment) {
    const ReduceBuffers sum = Collected(segment);
    for (int distance = 1; distance < n_; ++distance) {
      const Slot from = ContributionFrom(distance, segment);
      const size_t bytes = from.doubles.size() * sizeof(double) + from.bytes().size();
      RETURN_IF_ERROR(exchange_->WaitReceived(Position(kCollectReceive, distance, segment), bytes,
                                              At(kCollectReceive, distance, segment)));
      if (distance == 1) {
        std::copy(from.doubles.begin(), from.doubles.end(), sum.doubles.begin());
        Decode(compression_, from.halves, sum.floats);
      } else {
        for (size_t i = 0; i < sum.doubles.size(); ++i) sum.doubles[i] += from.doubles[i];
        AddDecoded(compression_, from.halves, sum.floats);
      }
    }
    SumInOrder({sum.doubles.data(), own.doubles.data()}, own.doubles.size(), own.doubles.data());
    SumInOrder({sum.floats.data(), own.floats.data()}, own.floats.size(), own.floats.data());
    return absl::OkStatus();
  }

  absl::Status Finish(Segment* segment) {
    const ReduceBuffers own = Part(0, segment);
    for (int distance = 1; distance < n_; ++distance) {
      if (SizeBytes(own) > 0) {
        RETURN_IF_ERROR(exchange_->WaitSent(Position(kSpreadSend, distance, segment),
                                            At(kSpreadSend, distance, segment)));
      }
      const ReduceBuffers part = Part(distance, segment);
      if (SizeBytes(part) == 0) continue;
      const Slot sum = SumOf(distance, segment);
      const size_t bytes = part.doubles.size() * sizeof(double) + sum.bytes().size();
      RETURN_IF_ERROR(exchange_->WaitReceived(Position(kSpreadReceive, distance, segment), bytes,
                                              At(kSpreadReceive, distance, segment)));
      Decode(compression_, sum.halves, part.floats);
    }
    return absl::OkStatus();
  }

  const int n_;
  const Compression compression_;
  const size_t segment_bytes_;
  const size_t slot_bytes_;
  const int64_t window_;
  const ChunkedBuffers cut_;
  Exchange* const exchange_;
  const absl::Span<std::byte> scratch_;
  std::vector<std::unique_ptr<Segment>> under_way_ = std::vector<std::unique_ptr<Segment>>(window_);
};

}  // namespace

absl::Status CompressedAllReduce(const ReduceBuffers& buffers, Exchange* exchange) {
  if (exchange->world_size() == 1) return absl::OkStatus();
  return CompressedAllReducer(buffers, exchange).Run();
}

}  // namespace lockstep

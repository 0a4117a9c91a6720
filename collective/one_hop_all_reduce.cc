#include "collective/one_hop_all_reduce.h"

#include <vector>

#include "base/status_macros.h"
#include "collective/chunked_buffers.h"
#include "collective/sum_in_order.h"

namespace lockstep {
namespace {

class OneHopAllReducer {
 public:
  OneHopAllReducer(const ReduceBuffers& buffers, Exchange* exchange)
      : buffers_(buffers),
        exchange_(exchange),
        n_(exchange->world_size()),
        of_rank_(n_),
        sends_(new Completion[n_]),
        receives_(new Completion[n_]) {
    // One slot for each other rank, each aligned as the scratch is.
    const size_t bytes = AlignedSize(SizeBytes(buffers));
    const absl::Span<std::byte> scratch = exchange->Scratch((n_ - 1) * bytes);
    for (int rank = 0, slot = 0; rank < n_; ++rank) {
      of_rank_[rank] = rank == exchange->rank() ? buffers : PlaceIn(&scratch[bytes * slot++], buffers);
    }
  }

  absl::Status Run() {
    for (int k = 1; k < n_; ++k) {
      const ReduceBuffers& from = of_rank_[Peer(k)];
      exchange_->Receive(At(k), ReceiveMode::kOverwrite, {from.doubles, from.floats, {}}, &receives_[k]);
    }
    for (int k = 1; k < n_; ++k) {
      exchange_->Send(At(k), {buffers_.doubles, buffers_.floats, {}}, &sends_[k]);
    }
    for (int k = 1; k < n_; ++k) {
      RETURN_IF_ERROR(exchange_->WaitReceived(At(k), SizeBytes(buffers_), &receives_[k]));
    }
    // The sums overwrite what is being sent.
    for (int k = 1; k < n_; ++k) RETURN_IF_ERROR(exchange_->WaitSent(At(k), &sends_[k]));
    for (int chunk = 0; chunk < n_; ++chunk) SumChunk(chunk);
    return absl::OkStatus();
  }

 private:
  MessagePosition At(int k) const { return {Peer(k), Exchange::kOneHopStep, 0}; }
  int Peer(int k) const { return (exchange_->rank() + k) % n_; }

  // In the ring's order: beginning with rank chunk + 1.
  void SumChunk(int chunk) const {
    std::vector<const double*> doubles(n_);
    std::vector<const float*> floats(n_);
    for (int i = 0; i < n_; ++i) {
      const ReduceBuffers part = ChunkOf(of_rank_[(chunk + 1 + i) % n_], chunk, n_);
      doubles[i] = part.doubles.data();
      floats[i] = part.floats.data();
    }
    const ReduceBuffers sum = ChunkOf(buffers_, chunk, n_);
    SumInOrder(doubles, sum.doubles.size(), sum.doubles.data());
    SumInOrder(floats, sum.floats.size(), sum.floats.data());
  }

  const ReduceBuffers buffers_;
  Exchange* const exchange_;
  const int n_;
  std::vector<ReduceBuffers> of_rank_;
  const std::unique_ptr<Completion[]> sends_;
  const std::unique_ptr<Completion[]> receives_;
};

}  // namespace

absl::Status OneHopAllReduce(const ReduceBuffers& buffers, Exchange* exchange) {
  if (exchange->world_size() == 1 || SizeBytes(buffers) == 0) return absl::OkStatus();
  return OneHopAllReducer(buffers, exchange).Run();
}

}  // namespace lockstep

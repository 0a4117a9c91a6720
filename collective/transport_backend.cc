#include "collective/transport_backend.h"

#include <utility>

#include "collective/chunked_buffers.h"
#include "collective/exchange.h"
#include "collective/mesh_all_reduce.h"
#include "collective/one_hop_all_reduce.h"
#include "collective/private_buffer.h"
#include "collective/ring_all_gather.h"
#include "collective/ring_all_reduce.h"
#include "collective/ring_broadcast.h"

namespace lockstep {
namespace {

// Beyond these, one hop sends too many bytes, and a mesh is too many streams at once.
constexpr size_t kMostOneHopBytes = size_t{256} << 10;
constexpr int kMostMeshRanks = 8;

Algorithm ChooseAlgorithm(size_t bytes, int world_size) {
  if (bytes * (world_size - 1) <= kMostOneHopBytes) return Algorithm::kOneHop;
  return world_size <= kMostMeshRanks ? Algorithm::kMesh : Algorithm::kRing;
}

class TransportBackend : public Backend {
 public:
  TransportBackend(Transport* transport, const CommunicatorOptions& options)
      : group_{transport, options, {}} {}

  absl::Status AllReduce(const ReduceBuffers& buffers, Waiting waiting) override {
    return AllReduceAs("all-reduce", buffers, waiting);
  }

  absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Waiting waiting) override {
    return Run("broadcast", bytes.size(), waiting,
               [root, bytes](Exchange* exchange) { return RingBroadcast(root, bytes, exchange); });
  }

  absl::Status AllGather(absl::string_view mine, std::vector<std::string>* all, Waiting waiting) override {
    return Run("all-gather", mine.size(), waiting,
               [mine, all](Exchange* exchange) { return RingAllGather(mine, all, exchange); });
  }

  absl::Status Barrier(Waiting waiting) override {
    // The one element's sum needs every rank, and every rank needs the sum.
    double token = 1;
    return AllReduceAs("barrier", {absl::MakeSpan(&token, 1), {}}, waiting);
  }

  absl::StatusOr<std::unique_ptr<CollectiveBuffer>> Allocate(size_t bytes, Waiting /*waiting*/) override {
    return std::make_unique<PrivateBuffer>(bytes);
  }

  void Abort(const absl::Status& status) override { group_.transport->Abort(status); }

  int64_t bytes_sent() const override { return bytes_sent_; }

 private:
  template <typename Function>
  absl::Status Run(absl::string_view operation, size_t size_bytes, Waiting waiting,
                   const Function& function) {
    Exchange exchange(&group_, operation, sequence_++, size_bytes, waiting);
    absl::Status status = function(&exchange);
    bytes_sent_ += exchange.bytes_sent();
    return status;
  }

  absl::Status AllReduceAs(absl::string_view operation, const ReduceBuffers& buffers, Waiting waiting) {
    const size_t bytes = SizeBytes(buffers);
    Algorithm algorithm = group_.options.algorithm;
    if (algorithm == Algorithm::kAuto) algorithm = ChooseAlgorithm(bytes, group_.transport->world_size());
    auto* const all_reduce = algorithm == Algorithm::kOneHop ? &OneHopAllReduce
                             : algorithm == Algorithm::kMesh ? &MeshAllReduce
                                                             : &RingAllReduce;
    return Run(operation, bytes, waiting,
               [&buffers, all_reduce](Exchange* exchange) { return all_reduce(buffers, exchange); });
  }

  Exchange::Group group_;
  int64_t sequence_ = 0;
  int64_t bytes_sent_ = 0;
};

}  // namespace

std::unique_ptr<Backend> MakeTransportBackend(Transport* transport, const CommunicatorOptions& options) {
  return std::make_unique<TransportBackend>(transport, options);
}

}  // namespace lockstep

#include "collective/transport_backend.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "collective/broadcast.h"
#include "collective/chunked_buffers.h"
#include "collective/compressed_all_reduce.h"
#include "collective/exchange.h"
#include "collective/mesh_all_reduce.h"
#include "collective/one_hop_all_reduce.h"
#include "collective/private_buffer.h"
#include "collective/ring_all_gather.h"
#include "collective/ring_all_reduce.h"

namespace lockstep {
namespace {

// From little more than latency to little more than bandwidth.
constexpr size_t kMeasuredBytes[] = {size_t{1} << 10, size_t{32} << 10, size_t{256} << 10, size_t{1} << 20,
                                     size_t{4} << 20};

// So long each algorithm may take for all measurements of one size together, as far as the size before tells.
constexpr double kSecondsPerSize = 0.02;
constexpr double kLeastSeconds = 1e-6;
constexpr int kGrowth = 4;  // of time, from one size to the next

class TransportBackendImpl : public TransportBackend {
 public:
  TransportBackendImpl(Transport* transport, const CommunicatorOptions& options)
      : group_{transport, options, {}}, costs_(transport->world_size()) {}

  absl::Status AllReduce(const ReduceBuffers& buffers, Waiting waiting) override {
    const Algorithm algorithm = ChooseAlgorithm(SizeBytes(buffers));
    // What is small enough for one hop gains nothing from being smaller.
    if (group_.options.compression == Compression::kNone || algorithm == Algorithm::kOneHop)
      return AllReduceAs("all-reduce", buffers, algorithm, waiting);
    return Run("all-reduce", SizeBytes(buffers), waiting,
               [&buffers](Exchange* exchange) { return CompressedAllReduce(buffers, exchange); });
  }

  absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Waiting waiting) override {
    return Run("broadcast", bytes.size(), waiting,
               [root, bytes](Exchange* exchange) { return lockstep::Broadcast(root, bytes, exchange); });
  }

  absl::Status AllGather(absl::string_view mine, std::vector<std::string>* all, Waiting waiting) override {
    return Run("all-gather", mine.size(), waiting,
               [mine, all](Exchange* exchange) { return RingAllGather(mine, all, exchange); });
  }

  absl::Status Barrier(Waiting waiting) override {
    // The one element's sum needs every rank, and every rank needs the sum.
    double token = 1;
    const Algorithm algorithm = group_.options.algorithm;
    return AllReduceAs("barrier", {absl::MakeSpan(&token, 1), {}},
                       algorithm == Algorithm::kAuto ? Algorithm::kOneHop : algorithm, waiting);
  }

  absl::StatusOr<std::unique_ptr<CollectiveBuffer>> Allocate(size_t bytes, Waiting /*waiting*/) override {
    return std::make_unique<PrivateBuffer>(bytes);
  }

  absl::Status MeasureCosts() override {
    CostModel costs(group_.transport->world_size());
    int count = group_.options.most_cost_measurements;
    for (const size_t bytes : kMeasuredBytes) {
      std::vector<double> seconds;
      for (const Algorithm algorithm : kMeasurableAlgorithms) {
        if (!costs.MayUse(algorithm, bytes)) continue;
        ASSIGN_OR_RETURN(seconds.emplace_back(), Measure(algorithm, bytes, count));
      }
      RETURN_IF_ERROR(TakeSlowestRanks(absl::MakeSpan(seconds)));
      auto next = seconds.begin();
      for (const Algorithm algorithm : kMeasurableAlgorithms) {
        if (costs.MayUse(algorithm, bytes)) costs.Add(algorithm, bytes, *next++);
      }
      // Larger sizes are estimated rather than keep a slow network busy.
      const double slowest = std::max(kLeastSeconds, *std::max_element(seconds.begin(), seconds.end()));
      if (slowest > kSecondsPerSize) break;
      count = std::min(count, static_cast<int>(kSecondsPerSize / slowest / kGrowth) + 1);
    }
    costs_ = costs;
    bytes_sent_ = 0;  // of the caller's operations
    return absl::OkStatus();
  }

  const CostModel& costs() const override { return costs_; }

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

  // The fastest of `count` counts: what disturbs a measurement makes it longer.
  absl::StatusOr<double> Measure(Algorithm algorithm, size_t bytes, int count) {
    constexpr Waiting kWaiting = Waiting::kPolling;
    std::vector<float> values(bytes / sizeof(float));
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < count; ++i) {
      double token = 0;
      RETURN_IF_ERROR(
          AllReduceAs("a barrier", {absl::MakeSpan(&token, 1), {}}, Algorithm::kOneHop, kWaiting));
      const absl::Time start = group_.transport->Now();
      RETURN_IF_ERROR(AllReduceAs("a trial", {{}, absl::MakeSpan(values)}, algorithm, kWaiting));
      least = std::min(least, absl::ToDoubleSeconds(group_.transport->Now() - start));
    }
    return least;
  }

  // So that all ranks have the same numbers.
  absl::Status TakeSlowestRanks(absl::Span<double> seconds) {
    std::vector<std::string> all;
    RETURN_IF_ERROR(
        AllGather({reinterpret_cast<const char*>(seconds.data()), seconds.size() * sizeof(double)}, &all,
                  Waiting::kPolling));
    for (const std::string& one : all) {
      std::vector<double> others(seconds.size());
      if (one.size() != others.size() * sizeof(double))
        return absl::InternalError("ranks have measured different algorithms");
      std::memcpy(others.data(), one.data(), one.size());
      for (size_t i = 0; i < seconds.size(); ++i) seconds[i] = std::max(seconds[i], others[i]);
    }
    return absl::OkStatus();
  }

  Algorithm ChooseAlgorithm(size_t bytes) const {
    const Algorithm algorithm = group_.options.algorithm;
    return algorithm == Algorithm::kAuto ? costs_.Choose(bytes) : algorithm;
  }

  absl::Status AllReduceAs(absl::string_view operation, const ReduceBuffers& buffers, Algorithm algorithm,
                           Waiting waiting) {
    auto* const all_reduce = algorithm == Algorithm::kOneHop ? &OneHopAllReduce
                             : algorithm == Algorithm::kMesh ? &MeshAllReduce
                                                             : &RingAllReduce;
    return Run(operation, SizeBytes(buffers), waiting,
               [&buffers, all_reduce](Exchange* exchange) { return all_reduce(buffers, exchange); });
  }

  Exchange::Group group_;
  CostModel costs_;
  int64_t sequence_ = 0;
  int64_t bytes_sent_ = 0;
};

}  // namespace

std::unique_ptr<TransportBackend> MakeTransportBackend(Transport* transport,
                                                       const CommunicatorOptions& options) {
  return std::make_unique<TransportBackendImpl>(transport, options);
}

}  // namespace lockstep

#include "collective/hierarchical_backend.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "collective/chunked_buffers.h"
#include "collective/half.h"

namespace lockstep {
namespace {

template <typename T>
absl::Span<std::byte> AsBytes(absl::Span<T> values) {
  return absl::MakeSpan(reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T));
}

class HierarchicalBackend : public Backend {
 public:
  HierarchicalBackend(HierarchyBackends backends, int place, int num_local, int num_shares,
                      Compression compression)
      : backends_(std::move(backends)),
        place_(place),
        num_local_(num_local),
        num_shares_(num_shares),
        compression_(compression) {}

  absl::Status AllReduce(const ReduceBuffers& buffers, Waiting waiting) override {
    RETURN_IF_ERROR(backends_.local->AllReduce(buffers, waiting));
    if (place_ < num_shares_) {
      const ReduceBuffers share = Share(buffers, place_);
      // The sum of a host is what one of the ranks that exchange contributes.
      RoundInPlace(compression_, share.floats);
      RETURN_IF_ERROR(backends_.between->AllReduce(share, waiting));
    }
    if (num_local_ == 1) return absl::OkStatus();
    for (int place = 0; place < num_shares_; ++place) {
      const ReduceBuffers share = Share(buffers, place);
      for (const absl::Span<std::byte> bytes : {AsBytes(share.doubles), AsBytes(share.floats)}) {
        if (!bytes.empty()) RETURN_IF_ERROR(backends_.local->Broadcast(place, bytes, waiting));
      }
    }
    return absl::OkStatus();
  }

  // These are rare, or small.
  absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Waiting waiting) override {
    return backends_.all->Broadcast(root, bytes, waiting);
  }
  absl::Status AllGather(absl::string_view mine, std::vector<std::string>* all, Waiting waiting) override {
    return backends_.all->AllGather(mine, all, waiting);
  }
  absl::Status Barrier(Waiting waiting) override { return backends_.all->Barrier(waiting); }

  absl::StatusOr<std::unique_ptr<CollectiveBuffer>> Allocate(size_t bytes, Waiting waiting) override {
    return backends_.local->Allocate(bytes, waiting);
  }

  void Abort(const absl::Status& status) override {
    backends_.all->Abort(status);
    backends_.local->Abort(status);
  }

  int64_t bytes_sent() const override {
    const int64_t between = backends_.between == nullptr ? 0 : backends_.between->bytes_sent();
    return backends_.all->bytes_sent() + backends_.local->bytes_sent() + between;
  }

 private:
  // The few doubles go with the first one.
  ReduceBuffers Share(const ReduceBuffers& buffers, int place) const {
    return {place == 0 ? buffers.doubles : absl::Span<double>(), ChunkOf(buffers, place, num_shares_).floats};
  }

  const HierarchyBackends backends_;
  const int place_;
  const int num_local_;
  const int num_shares_;
  const Compression compression_;
};

}  // namespace

Hosts GroupByHost(const std::vector<int>& host_of_rank) {
  Hosts hosts;
  std::map<int, size_t> index_of_host;
  for (size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    const auto [index, is_new] = index_of_host.emplace(host_of_rank[rank], hosts.size());
    if (is_new) hosts.emplace_back();
    hosts[index->second].push_back(static_cast<int>(rank));
  }
  return hosts;
}

bool IsHierarchy(const Hosts& hosts) {
  return hosts.size() > 1 && std::any_of(hosts.begin(), hosts.end(),
                                         [](const std::vector<int>& ranks) { return ranks.size() > 1; });
}

int NumShares(const Hosts& hosts) {
  size_t least = hosts[0].size();
  for (const std::vector<int>& ranks : hosts) least = std::min(least, ranks.size());
  return static_cast<int>(least);
}

std::unique_ptr<Backend> MakeHierarchicalBackend(HierarchyBackends backends, int place, int num_local,
                                                 int num_shares, Compression compression) {
  return std::make_unique<HierarchicalBackend>(std::move(backends), place, num_local, num_shares,
                                               compression);
}

}  // namespace lockstep

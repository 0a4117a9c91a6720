#include "collective/ring_all_gather.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "collective/ring_schedule.h"

namespace lockstep {
namespace {

using Blocks = std::vector<absl::Span<std::byte>>;

template <typename T>
absl::Span<std::byte> AsBytes(T* data, size_t count) {
  return absl::MakeSpan(reinterpret_cast<std::byte*>(data), count * sizeof(T));
}

// Each rank has its own block; afterwards each has all. In step k a rank passes on block rank-k.
absl::Status GatherBlocks(const Blocks& blocks, int first_step, Exchange* exchange) {
  const int n = exchange->world_size();
  const RingSchedule ring(exchange->rank(), n);
  for (int k = 0; k < n - 1; ++k) {
    const absl::Span<std::byte> from = blocks[(exchange->rank() - k + n) % n];
    const absl::Span<std::byte> to = blocks[(exchange->rank() - k - 1 + n) % n];
    const int step = first_step + k;
    Completion send, receive;
    exchange->Receive({ring.prev(), step, 0}, ReceiveMode::kOverwrite, {{}, {}, to}, &receive);
    exchange->Send({ring.next(), step, 0}, {{}, {}, from}, &send);
    RETURN_IF_ERROR(exchange->WaitReceived({ring.prev(), step, 0}, to.size(), &receive));
    RETURN_IF_ERROR(exchange->WaitSent({ring.next(), step, 0}, &send));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RingAllGather(absl::string_view mine, std::vector<std::string>* all, Exchange* exchange) {
  const int n = exchange->world_size();
  std::vector<uint64_t> sizes(n);
  sizes[exchange->rank()] = mine.size();
  Blocks blocks;
  for (uint64_t& size : sizes) blocks.push_back(AsBytes(&size, 1));
  RETURN_IF_ERROR(GatherBlocks(blocks, 0, exchange));
  all->resize(n);
  blocks.clear();
  for (int r = 0; r < n; ++r) {
    if (sizes[r] > kMostGatheredBytes) {
      return absl::InvalidArgumentError(absl::StrCat("all-gather: rank ", r, " contributes ", sizes[r],
                                                     " bytes; at most ", kMostGatheredBytes));
    }
    (*all)[r].resize(sizes[r]);
    blocks.push_back(AsBytes((*all)[r].data(), sizes[r]));
  }
  (*all)[exchange->rank()].assign(mine.data(), mine.size());
  return GatherBlocks(blocks, n - 1, exchange);
}

}  // namespace lockstep

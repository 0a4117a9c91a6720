#include "collective/shared_memory/shared_memory_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "collective/chunked_buffers.h"
#include "collective/private_buffer.h"
#include "collective/shared_memory/shared_group.h"
#include "collective/sum_in_order.h"

namespace lockstep {
namespace {

// Up to so many bytes more than two ranks copy and sum everything themselves, in one phase, rather than meet
// twice (measured with 4 ranks on 2 processors, docs/performance.md).
constexpr size_t kMostCopiedBytes = size_t{8} << 10;

constexpr size_t kSlotBytes = SharedGroup::kSlotBytes;

// Copies nothing from nowhere, too, which memcpy does not allow.
template <typename T>
void Copy(absl::Span<const T> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

Gather GatherBy(Backend* backend, Waiting waiting) {
  return [backend, waiting](const std::string& mine) -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> all;
    RETURN_IF_ERROR(backend->AllGather(mine, &all, waiting));
    return all;
  };
}

class SharedBuffer : public CollectiveBuffer {
 public:
  explicit SharedBuffer(std::shared_ptr<SealedMemory> memory) : memory_(std::move(memory)) {}
  absl::Span<std::byte> bytes() const override { return memory_->bytes(); }

 private:
  const std::shared_ptr<SealedMemory> memory_;
};

class SharedMemoryBackend : public Backend {
 public:
  SharedMemoryBackend(Transport* transport, std::unique_ptr<SharedGroup> group)
      : transport_(transport), group_(std::move(group)), n_(group_->world_size()) {}

  absl::Status AllReduce(const ReduceBuffers& buffers, Waiting waiting) override {
    Announcement announcement;
    announcement.operation = SharedOperation::kReduceInPlace;
    announcement.floats = buffers.floats.size();
    const bool little = n_ > 2 && SizeBytes(buffers) <= kMostCopiedBytes;
    if (little || buffers.floats.empty() || !group_->Locate(buffers.floats, &announcement))
      return ReduceCopies(buffers, waiting);
    if (buffers.doubles.size() * sizeof(double) > kSlotBytes) {
      RETURN_IF_ERROR(ReduceCopies({buffers.doubles, {}}, waiting));
    } else {
      announcement.doubles = buffers.doubles.size();
    }
    return ReduceInPlace(buffers.doubles.first(announcement.doubles), announcement, waiting);
  }

  absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Waiting waiting) override {
    Announcement announcement;
    announcement.operation = SharedOperation::kBroadcast;
    announcement.root = root;
    announcement.floats = bytes.size();
    for (size_t begin = 0; begin < bytes.size(); begin += kSlotBytes) {
      const absl::Span<std::byte> part = bytes.subspan(begin, kSlotBytes);
      if (group_->rank() == root) Copy<std::byte>(part, group_->next_slot());
      RETURN_IF_ERROR(group_->Meet(announcement, waiting));
      if (group_->rank() != root) std::memcpy(part.data(), group_->slot(root), part.size());
    }
    return absl::OkStatus();
  }

  absl::Status AllGather(absl::string_view mine, std::vector<std::string>* all, Waiting waiting) override {
    Announcement announcement;
    announcement.operation = SharedOperation::kAllGather;
    announcement.floats = mine.size();
    all->assign(n_, "");
    size_t gathered = 0, most = 0;
    do {
      const absl::string_view part = mine.substr(std::min(gathered, mine.size()), kSlotBytes);
      Copy<char>({part.data(), part.size()}, group_->next_slot());
      RETURN_IF_ERROR(group_->MeetAny(announcement, waiting));
      if (gathered == 0) {
        ASSIGN_OR_RETURN(most, CheckGathered());
      }
      for (int rank = 0; rank < n_; ++rank) {
        std::string& whole = (*all)[rank];
        const size_t size = std::min(group_->announced(rank).floats - whole.size(), kSlotBytes);
        whole.append(reinterpret_cast<const char*>(group_->slot(rank)), size);
      }
      gathered += kSlotBytes;
    } while (gathered < most);
    return absl::OkStatus();
  }

  absl::Status Barrier(Waiting waiting) override {
    Announcement announcement;
    announcement.operation = SharedOperation::kBarrier;
    return group_->Meet(announcement, waiting);
  }

  absl::StatusOr<std::unique_ptr<CollectiveBuffer>> Allocate(size_t bytes, Waiting waiting) override {
    if (bytes == 0) return std::make_unique<PrivateBuffer>(bytes);
    std::shared_ptr<SealedMemory> memory;
    ASSIGN_OR_RETURN(const std::string obstacle, group_->Allocate(bytes, GatherBy(this, waiting), &memory));
    if (obstacle.empty()) return std::make_unique<SharedBuffer>(std::move(memory));
    LOG(INFO) << "buffer of " << bytes << " bytes is not shared: " << obstacle;
    return std::make_unique<PrivateBuffer>(bytes);
  }

  void Abort(const absl::Status& status) override {
    transport_->Abort(status);
    group_->Wake();
  }

  int64_t bytes_sent() const override { return 0; }

 private:
  // The floats are in the shared buffers, where `announcement` says.
  absl::Status ReduceInPlace(absl::Span<double> doubles, const Announcement& announcement, Waiting waiting) {
    Copy<double>(doubles, group_->next_slot());
    RETURN_IF_ERROR(group_->Meet(announcement, waiting));
    SumSlots(doubles, doubles.size(), 0, 0);
    const size_t begin = ChunkBegin(announcement.floats, group_->rank(), n_);
    const size_t end = ChunkBegin(announcement.floats, group_->rank() + 1, n_);
    for (int i = 0; i < n_; ++i) {
      const int rank = RankInSum(group_->rank(), i);
      float* const floats = group_->FloatsOf(rank);
      if (floats == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", rank, " announced floats outside of the shared buffers"));
      }
      chunk_of_rank_[i] = floats + begin;
    }
    SumInOrderToAll(chunk_of_rank_, end - begin);
    // All have stored their chunks.
    return group_->Meet(announcement, waiting);
  }

  absl::Status ReduceCopies(const ReduceBuffers& buffers, Waiting waiting) {
    Announcement announcement;
    announcement.operation = SharedOperation::kReduceCopies;
    announcement.doubles = buffers.doubles.size();
    announcement.floats = buffers.floats.size();
    size_t doubles_done = 0, floats_done = 0;
    while (doubles_done < buffers.doubles.size() || floats_done < buffers.floats.size()) {
      const ReduceBuffers part = {buffers.doubles.subspan(doubles_done, kSlotBytes / sizeof(double)), {}};
      const size_t left = kSlotBytes - SizeBytes(part);
      const absl::Span<float> floats = buffers.floats.subspan(floats_done, left / sizeof(float));
      const size_t floats_at = part.doubles.size() * sizeof(double);
      Copy<double>(part.doubles, group_->next_slot());
      Copy<float>(floats, group_->next_slot() + floats_at);
      RETURN_IF_ERROR(group_->Meet(announcement, waiting));
      SumSlots(part.doubles, buffers.doubles.size(), doubles_done, 0);
      SumSlots(floats, buffers.floats.size(), floats_done, floats_at);
      doubles_done += part.doubles.size();
      floats_done += floats.size();
    }
    return absl::OkStatus();
  }

  // `sum` is elements first, first + 1, ... of `count`; those of each rank begin at byte `at` of its slot.
  template <typename T>
  void SumSlots(absl::Span<T> sum, size_t count, size_t first, size_t at) {
    std::vector<const T*> operands(n_);
    for (int chunk = 0; chunk < n_; ++chunk) {
      const size_t begin = std::max(first, ChunkBegin(count, chunk, n_));
      const size_t end = std::min(first + sum.size(), ChunkBegin(count, chunk + 1, n_));
      if (begin >= end) continue;
      for (int i = 0; i < n_; ++i) {
        const std::byte* const slot = group_->slot(RankInSum(chunk, i));
        operands[i] = reinterpret_cast<const T*>(slot + at) + (begin - first);
      }
      SumInOrder(operands, end - begin, &sum[begin - first]);
    }
  }

  // Who comes i-th in the sum of a chunk.
  int RankInSum(int chunk, int i) const { return (chunk + 1 + i) % n_; }

  // Of the longest.
  absl::StatusOr<size_t> CheckGathered() const {
    size_t most = 0;
    for (int rank = 0; rank < n_; ++rank) {
      const Announcement& announced = group_->announced(rank);
      if (announced.operation != SharedOperation::kAllGather || announced.floats > kMostGatheredBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", rank, " does not gather, or more than ", kMostGatheredBytes, " bytes"));
      }
      most = std::max<size_t>(most, announced.floats);
    }
    return most;
  }

  Transport* const transport_;
  const std::unique_ptr<SharedGroup> group_;
  const int n_;
  std::vector<float*> chunk_of_rank_ = std::vector<float*>(n_);
};

}  // namespace

absl::StatusOr<SharedMemoryOutcome> ConnectSharedMemory(Transport* transport, Backend* messages,
                                                        const CommunicatorOptions& options) {
  SharedMemoryOutcome outcome;
  std::unique_ptr<SharedGroup> group;
  ASSIGN_OR_RETURN(outcome.obstacle, SharedGroup::Create(transport, GatherBy(messages, Waiting::kPolling),
                                                         {options.timeout, options.stall_warning}, &group));
  if (outcome.obstacle.empty())
    outcome.backend = std::make_unique<SharedMemoryBackend>(transport, std::move(group));
  return outcome;
}

}  // namespace lockstep

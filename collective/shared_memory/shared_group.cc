#include "collective/shared_memory/shared_group.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/cpu.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "collective/peer_lost.h"

namespace lockstep {
namespace {

// Of polling, before a rank sleeps: about 100 us with a processor for each rank. Yields take their time.
constexpr int kPauses = 2000;
constexpr int kYields = 500;

// After so long a sleeper looks whether its peer lives.
constexpr absl::Duration kMostSleep = absl::Milliseconds(100);

constexpr size_t kControlBytes = 4096;  // one page
static_assert(sizeof(ControlBlock) <= kControlBytes);

constexpr size_t kBlockBytes = kControlBytes + 2 * SharedGroup::kSlotBytes;

const char* Name(SharedOperation operation) {
  switch (operation) {
    case SharedOperation::kReduceInPlace:
      return "an all-reduce in shared memory";
    case SharedOperation::kReduceCopies:
      return "an all-reduce";
    case SharedOperation::kBroadcast:
      return "a broadcast";
    case SharedOperation::kAllGather:
      return "an all-gather";
    case SharedOperation::kBarrier:
      return "a barrier";
    default:
      return "nothing";
  }
}

std::string Text(const Announcement& announcement) {
  switch (announcement.operation) {
    case SharedOperation::kBroadcast:
      return absl::StrCat(Name(announcement.operation), " of ", announcement.floats, " bytes from rank ",
                          announcement.root);
    case SharedOperation::kReduceInPlace:
    case SharedOperation::kReduceCopies:
      return absl::StrCat(Name(announcement.operation), " of ", announcement.doubles, " doubles and ",
                          announcement.floats, " floats");
    default:
      return Name(announcement.operation);
  }
}

bool Same(const Announcement& a, const Announcement& b) {
  return a.operation == b.operation && a.root == b.root && a.doubles == b.doubles && a.floats == b.floats;
}

RankNames NamesOf(const Transport& transport) {
  RankNames names;
  for (int rank = 0; rank < transport.world_size(); ++rank) names.push_back(transport.OriginalRank(rank));
  return names;
}

}  // namespace

absl::StatusOr<std::string> SharedGroup::Create(Transport* transport, const Gather& gather,
                                                const Options& options, std::unique_ptr<SharedGroup>* group) {
  std::vector<LocalSocket> links;
  ASSIGN_OR_RETURN(std::string obstacle,
                   ConnectHostLinks(transport->rank(), NamesOf(*transport), gather, &links));
  if (!obstacle.empty()) return obstacle;
  std::unique_ptr<SharedGroup> created(new SharedGroup(transport, options, std::move(links)));
  ASSIGN_OR_RETURN(obstacle, created->ShareMemory(kBlockBytes, gather, &created->blocks_));
  if (obstacle.empty()) *group = std::move(created);
  return obstacle;
}

SharedGroup::SharedGroup(Transport* transport, const Options& options, std::vector<LocalSocket> links)
    : transport_(transport),
      options_(options),
      links_(std::move(links)),
      crowded_(transport->world_size() > AllowedProcessors()) {}

absl::StatusOr<std::string> SharedGroup::Allocate(size_t bytes, const Gather& gather,
                                                  std::shared_ptr<SealedMemory>* memory) {
  RETURN_IF_ERROR(DropReleased(gather));
  SharedBuffer buffer;
  ASSIGN_OR_RETURN(std::string obstacle, ShareMemory(bytes, gather, &buffer));
  if (obstacle.empty()) {
    *memory = buffer.own;
    buffers_.push_back(std::move(buffer));
  }
  return obstacle;
}

absl::Status SharedGroup::DropReleased(const Gather& gather) {
  constexpr char kInUse = '+', kReleased = '-';
  std::string own;
  for (const SharedBuffer& buffer : buffers_) own += buffer.own.use_count() > 1 ? kInUse : kReleased;
  ASSIGN_OR_RETURN(const std::vector<std::string> all, gather(own));
  for (size_t i = own.size(); i-- > 0;) {
    const bool released = std::all_of(all.begin(), all.end(), [i](const std::string& of_rank) {
      return i < of_rank.size() && of_rank[i] == kReleased;
    });
    if (released) buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SharedGroup::ShareMemory(size_t bytes, const Gather& gather,
                                                     SharedBuffer* buffer) {
  absl::StatusOr<SealedMemory> own = SealedMemory::Create(bytes);
  // Every rank gets one message from each other one, whatever happens.
  absl::Status obstacle = own.status();
  const FileDescriptor none;
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer == rank()) continue;
    const absl::Status sent = links_[peer].Send("memory", own.ok() ? own->fd() : none);
    if (obstacle.ok()) obstacle = sent;
  }
  buffer->bytes = bytes;
  buffer->of_rank.assign(world_size(), nullptr);
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer == rank()) continue;
    ASSIGN_OR_RETURN(const FileDescriptor fd, ReceiveDescriptor(peer));
    // One that has none to pass says why when all agree.
    if (!fd.valid() || !obstacle.ok()) continue;
    absl::StatusOr<SealedMemory> mapped = SealedMemory::Map(fd, bytes);
    if (mapped.ok()) {
      buffer->of_rank[peer] = mapped->bytes().data();
      buffer->mapped.push_back(*std::move(mapped));
    } else {
      obstacle = mapped.status();
    }
  }
  if (own.ok()) {
    own->CloseDescriptor();
    buffer->of_rank[rank()] = own->bytes().data();
    buffer->own = std::make_shared<SealedMemory>(*std::move(own));
  }
  return AgreeOnObstacle(obstacle, NamesOf(*transport_), gather);
}

absl::StatusOr<FileDescriptor> SharedGroup::ReceiveDescriptor(int peer) {
  const absl::Time deadline = absl::Now() + options_.timeout;
  while (true) {
    absl::StatusOr<LocalMessage> message = links_[peer].Receive(absl::Now() + kMostSleep);
    if (message.ok()) return std::move(message->fd);
    RETURN_IF_ERROR(transport_->status());
    if (!absl::IsDeadlineExceeded(message.status())) return message.status();
    if (absl::Now() >= deadline) return OnTimeout(peer);
  }
}

bool SharedGroup::Locate(absl::Span<const float> floats, Announcement* announcement) const {
  const auto* const data = reinterpret_cast<const std::byte*>(floats.data());
  const size_t bytes = floats.size() * sizeof(float);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const std::byte* const begin = buffers_[i].of_rank[rank()];
    if (std::less<>()(data, begin) || std::less<>()(begin + buffers_[i].bytes, data + bytes)) continue;
    announcement->buffer = i;
    announcement->offset = data - begin;
    return true;
  }
  return false;
}

float* SharedGroup::FloatsOf(int rank) const {
  const Announcement& place = announced(rank);
  if (place.buffer >= buffers_.size()) return nullptr;
  const SharedBuffer& buffer = buffers_[place.buffer];
  const bool inside = place.offset % sizeof(float) == 0 && place.offset <= buffer.bytes &&
                      place.floats <= (buffer.bytes - place.offset) / sizeof(float);
  return inside ? reinterpret_cast<float*>(buffer.of_rank[rank] + place.offset) : nullptr;
}

std::byte* SharedGroup::Slot(int rank, uint32_t phase) const {
  return blocks_.of_rank[rank] + kControlBytes + phase % 2 * kSlotBytes;
}

absl::Status SharedGroup::MeetAny(const Announcement& announcement, Waiting waiting) {
  Enter(announcement);
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != rank()) RETURN_IF_ERROR(Await(peer, waiting));
  }
  return absl::OkStatus();
}

absl::Status SharedGroup::Meet(const Announcement& announcement, Waiting waiting) {
  RETURN_IF_ERROR(MeetAny(announcement, waiting));
  for (int peer = 0; peer < world_size(); ++peer) {
    if (Same(announced(peer), announcement)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", OriginalRank(peer), " runs ", Text(announced(peer)), ", rank ", OriginalRank(rank()), " ",
        Text(announcement), ": all ranks must run the same operations"));
  }
  return absl::OkStatus();
}

void SharedGroup::Enter(const Announcement& announcement) {
  ControlBlock& own = control(rank());
  ++phase_;
  own.announcements[phase_ % 2] = announcement;
  // In one order with the sleeper's "I sleep, and it has not entered": one of the two sees the other.
  own.phase.store(phase_, std::memory_order_seq_cst);
  if (own.sleepers.load(std::memory_order_seq_cst) > 0) FutexWake(&own.phase);
}

bool SharedGroup::HasEntered(int rank) const {
  const uint32_t ahead = control(rank).phase.load(std::memory_order_acquire) - phase_;
  return static_cast<int32_t>(ahead) >= 0;
}

absl::Status SharedGroup::Await(int rank, Waiting waiting) {
  if (HasEntered(rank)) return absl::OkStatus();
  if (waiting == Waiting::kPolling && Poll(rank)) return absl::OkStatus();
  const absl::Time start = absl::Now();
  absl::Time warning = start + options_.stall_warning;
  while (true) {
    // Before sleeping: what happened while this rank polled has woken nobody.
    RETURN_IF_ERROR(transport_->status());
    Sleep(rank);
    if (HasEntered(rank)) return absl::OkStatus();
    const absl::Time now = absl::Now();
    if (now - start >= options_.timeout) return OnTimeout(rank);
    if (now >= warning) {
      LOG(WARNING) << "rank " << OriginalRank(this->rank()) << ": no progress for "
                   << absl::FormatDuration(now - start) << " in " << Describe(rank);
      warning += options_.stall_warning;
    }
  }
}

bool SharedGroup::Poll(int rank) const {
  for (int i = 0; i < (crowded_ ? kYields : kPauses); ++i) {
    if (crowded_) {
      sched_yield();
    } else {
      _mm_pause();
    }
    if (HasEntered(rank)) return true;
  }
  return false;
}

void SharedGroup::Sleep(int rank) const {
  ControlBlock& peer = control(rank);
  peer.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t seen = peer.phase.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(seen - phase_) < 0) {
    FutexWait(&peer.phase, seen, std::min({kMostSleep, options_.timeout, options_.stall_warning}));
  }
  peer.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void SharedGroup::Wake() {
  for (int peer = 0; peer < world_size(); ++peer) FutexWake(&control(peer).phase);
}

std::string SharedGroup::Describe(int rank) const {
  return absl::StrCat(Text(announced(this->rank())), ", waiting for rank ", OriginalRank(rank),
                      " in the memory that they share (phase ", phase_, ")");
}

absl::Status SharedGroup::OnTimeout(int rank) const {
  return MakeStalledStatus(OriginalRank(this->rank()), OriginalRank(rank), options_.timeout, Describe(rank));
}

}  // namespace lockstep

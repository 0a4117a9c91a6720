// The ranks of a group on one host, seen from one of them: memory that all of them map, and a way to meet.
//
// Time is cut into phases. In each, a rank announces what it is about to do and fills its slot; Meet returns
// when all have done so. From then until it enters the next phase, it may read the slots of all, and what the
// operation's rules let it read or write in the shared buffers. Announcements and slots are there twice and
// used by turns: who enters phase p+2 has met all in phase p+1, and so knows that they are done with phase p.
//
// A rank that dies or leaves with an error is noticed by the group's transport, which also brings the cause.
// Nobody waits without an end: after 100 ms of sleep at most the transport is asked.
//
// Memory of a group that has ended with an error is not used by any other: a rank that was frozen may still
// be storing into it.
//
// One thread at a time, except Wake.
#ifndef LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SHARED_GROUP_H_
#define LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SHARED_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collective/backend.h"
#include "collective/shared_memory/control_block.h"
#include "collective/shared_memory/host_links.h"
#include "collective/shared_memory/sealed_memory.h"
#include "collective/transport/transport.h"

namespace lockstep {

class SharedGroup {
 public:
  struct Options {
    // Without progress of an operation.
    absl::Duration timeout;
    absl::Duration stall_warning;
  };

  // Capacity of a slot.
  static constexpr size_t kSlotBytes = size_t{256} << 10;

  // Returns what stood in the way, the same on all ranks, and then makes no group. `gather` and `transport`
  // reach all ranks of the group; the transport outlives it.
  // Errors: those of `gather`; the loss of a rank.
  static absl::StatusOr<std::string> Create(Transport* transport, const Gather& gather,
                                            const Options& options, std::unique_ptr<SharedGroup>* group);

  int rank() const { return transport_->rank(); }
  int world_size() const { return transport_->world_size(); }

  // This rank's, of the next phase: to be filled before Meet.
  std::byte* next_slot() const { return Slot(rank(), phase_ + 1); }

  // Enters the next phase and waits until all have done so.
  // Errors: DEADLINE_EXCEEDED after options.timeout; the transport's.
  absl::Status MeetAny(const Announcement& announcement, Waiting waiting);
  // The same for an operation in which all announce the same, but for the places of their buffers.
  // Errors: also INVALID_ARGUMENT if a rank has announced another operation or other sizes.
  absl::Status Meet(const Announcement& announcement, Waiting waiting);

  // Of the phase that was met last.
  const std::byte* slot(int rank) const { return Slot(rank, phase_); }
  const Announcement& announced(int rank) const { return control(rank).announcements[phase_ % 2]; }

  // Memory that all ranks map; the same calls in the same order on all ranks. It is unmapped by the first
  // call after all ranks have let go of it. Returns what stood in the way, the same on all ranks. Errors: as
  // Meet.
  absl::StatusOr<std::string> Allocate(size_t bytes, const Gather& gather,
                                       std::shared_ptr<SealedMemory>* memory);

  // Where floats lie in this rank's shared buffers, if they do; sets buffer and offset.
  bool Locate(absl::Span<const float> floats, Announcement* announcement) const;
  // Where those of another rank lie, by what it has announced. Null if that is outside of its buffers.
  float* FloatsOf(int rank) const;

  // Wakes this rank, so that it asks the transport. Any thread.
  void Wake();

 private:
  struct SharedBuffer {
    size_t bytes = 0;
    std::vector<std::byte*> of_rank;
    std::shared_ptr<SealedMemory> own;
    std::vector<SealedMemory> mapped;
  };

  SharedGroup(Transport* transport, const Options& options, std::vector<LocalSocket> links);

  absl::Status DropReleased(const Gather& gather);
  // Makes memory of so many bytes, passes it to the others and maps theirs.
  absl::StatusOr<std::string> ShareMemory(size_t bytes, const Gather& gather, SharedBuffer* buffer);
  absl::StatusOr<FileDescriptor> ReceiveDescriptor(int peer);

  int OriginalRank(int rank) const { return transport_->OriginalRank(rank); }
  ControlBlock& control(int rank) const { return *reinterpret_cast<ControlBlock*>(blocks_.of_rank[rank]); }
  std::byte* Slot(int rank, uint32_t phase) const;

  void Enter(const Announcement& announcement);
  bool HasEntered(int rank) const;
  absl::Status Await(int rank, Waiting waiting);
  bool Poll(int rank) const;
  void Sleep(int rank) const;
  std::string Describe(int rank) const;
  absl::Status OnTimeout(int rank) const;

  Transport* const transport_;
  const Options options_;
  std::vector<LocalSocket> links_;  // by rank
  const bool crowded_;              // more ranks than processors

  SharedBuffer blocks_;  // of each rank: its control block, then its slots
  std::vector<SharedBuffer> buffers_;
  uint32_t phase_ = 0;  // the one entered last; wraps
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SHARED_GROUP_H_

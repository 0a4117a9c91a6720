// What a rank shows to the others of its group in shared memory: how far it is and what it is about to do.
// All zero at first.
#ifndef LOCKSTEP_COLLECTIVE_SHARED_MEMORY_CONTROL_BLOCK_H_
#define LOCKSTEP_COLLECTIVE_SHARED_MEMORY_CONTROL_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace lockstep {

enum class SharedOperation : uint32_t {
  kNone,
  kReduceInPlace,
  kReduceCopies,
  kBroadcast,
  kAllGather,
  kBarrier
};

// What a rank does in one phase. Compared with that of the others, so that ranks which do not do the same
// never touch each other's memory.
struct Announcement {
  SharedOperation operation = SharedOperation::kNone;
  uint32_t root = 0;
  uint64_t doubles = 0;
  uint64_t floats = 0;  // or bytes
  // Where the floats are: in which of the shared buffers, counted from the first, and how far from its begin.
  // May differ from rank to rank.
  uint64_t buffer = 0;
  uint64_t offset = 0;
};

// Two lines of cache, since processors fetch them in pairs.
constexpr size_t kCacheLines = 128;

struct alignas(kCacheLines) ControlBlock {
  std::atomic<uint32_t> phase;     // phases that the owner has entered; others sleep on it
  std::atomic<uint32_t> sleepers;  // ranks that do
  // By the parity of the phase: the one before may still be read.
  Announcement announcements[2];
};

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4,
              "a futex is a plain 32-bit word");

// Sleeps while *word == value: until FutexWake, `timeout`, or for no reason.
void FutexWait(std::atomic<uint32_t>* word, uint32_t value, absl::Duration timeout);
// Wakes all that sleep on it, in all processes.
void FutexWake(std::atomic<uint32_t>* word);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SHARED_MEMORY_CONTROL_BLOCK_H_

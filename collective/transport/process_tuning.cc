#include "collective/transport/process_tuning.h"

#include <malloc.h>

#include "absl/synchronization/mutex.h"

namespace lockstep {

void TuneProcessForTransport() {
  // gRPC allocates every slice that it receives. With the defaults, large ones are mapped and unmapped each
  // time and pay for their page faults: an all-reduce of 256 MB took 544 instead of 88 ms. So: keep memory,
  // in one arena.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2047 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);
  // Debian's Abseil looks for deadlocks at every lock: 3 to 10 % of an all-reduce.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace lockstep

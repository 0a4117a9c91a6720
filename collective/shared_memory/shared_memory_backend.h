// Operations of ranks that are on one host, done in memory that they share.
//
//   all-reduce    of floats in shared buffers: each rank reads its chunk from all buffers and stores the sum
//                 to all, in place, without a copy. 2 phases. Of other floats, of doubles, and of little
//                 between many ranks: copied to slots, which every rank sums for itself. 1 phase per 256 KiB.
//   broadcast     through the root's slots. 1 phase per 256 KiB.
//   all-gather    through all slots.
//   barrier       1 phase.
//
// Sums have the bits of every other way (communicator.h).
#ifndef LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SHARED_MEMORY_BACKEND_H_
#define LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SHARED_MEMORY_BACKEND_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "collective/backend.h"
#include "collective/transport/transport.h"

namespace lockstep {

struct SharedMemoryOutcome {
  std::unique_ptr<Backend> backend;  // none if something stood in the way
  std::string obstacle;              // the same on all ranks
};

// All ranks call it. `messages` and `transport`, which outlives the backend, reach all ranks of the group.
// Errors: those of an all-gather by messages.
absl::StatusOr<SharedMemoryOutcome> ConnectSharedMemory(Transport* transport, Backend* messages,
                                                        const CommunicatorOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SHARED_MEMORY_BACKEND_H_

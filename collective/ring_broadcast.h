// Broadcast along the ring: the root sends to the rank after it, each rank passes on what it gets.
#ifndef LOCKSTEP_COLLECTIVE_RING_BROADCAST_H_
#define LOCKSTEP_COLLECTIVE_RING_BROADCAST_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "collective/exchange.h"

namespace lockstep {

// Overwrites `bytes`, of the same size on all ranks, with the root's. Blocks.
absl::Status RingBroadcast(int root, absl::Span<std::byte> bytes, Exchange* exchange);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_RING_BROADCAST_H_

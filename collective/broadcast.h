// Broadcast, in segments: along the ring, or along a binomial tree, whichever takes fewer hops.
//
//   ring   each rank passes every segment on to the next one: n-1 hops until the last rank has the first
//          segment, one more for each further segment; each rank sends the bytes once.
//   tree   in each round, every rank that has a segment passes it to one that has not: ceil(log2 n) rounds;
//          the root sends the bytes so many times, and the segments follow each other at that pace.
#ifndef LOCKSTEP_COLLECTIVE_BROADCAST_H_
#define LOCKSTEP_COLLECTIVE_BROADCAST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "collective/exchange.h"

namespace lockstep {

// Whom a rank has the bytes from, and to whom it passes them on, in this order.
struct BroadcastRoute {
  int parent = -1;  // -1: the root
  std::vector<int> children;
};

BroadcastRoute RingRoute(int rank, int world_size, int root);
BroadcastRoute TreeRoute(int rank, int world_size, int root);

// Whether so many segments reach the last rank sooner along the tree.
bool TreeIsFaster(int world_size, int64_t num_segments);

// Overwrites `bytes`, of the same size on all ranks, with the root's. Blocks.
// Errors: those of the exchange; INVALID_ARGUMENT for more segments than there are tags.
absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Exchange* exchange);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_BROADCAST_H_

// All-reduce in one hop, for small buffers: every rank sends all of its buffer to every other, and each sums
// for itself. n-1 times the bytes of the buffer leave each rank, but there is one latency, not 2 (n-1).
#ifndef LOCKSTEP_COLLECTIVE_ONE_HOP_ALL_REDUCE_H_
#define LOCKSTEP_COLLECTIVE_ONE_HOP_ALL_REDUCE_H_

#include "absl/status/status.h"
#include "collective/communicator.h"
#include "collective/exchange.h"

namespace lockstep {

// Sums the buffers over all ranks, in place; the same bits as RingAllReduce. Blocks.
absl::Status OneHopAllReduce(const ReduceBuffers& buffers, Exchange* exchange);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_ONE_HOP_ALL_REDUCE_H_

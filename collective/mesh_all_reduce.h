// All-reduce in two hops, for few ranks: each rank collects its chunk from all others, sums it, and sends the
// sum to all others. The bytes of a ring, 2 instead of 2 (n-1) latencies, and n-1 streams instead of one.
#ifndef LOCKSTEP_COLLECTIVE_MESH_ALL_REDUCE_H_
#define LOCKSTEP_COLLECTIVE_MESH_ALL_REDUCE_H_

#include "absl/status/status.h"
#include "collective/communicator.h"
#include "collective/exchange.h"

namespace lockstep {

// Sums the buffers over all ranks, in place; the same bits as RingAllReduce. Blocks.
absl::Status MeshAllReduce(const ReduceBuffers& buffers, Exchange* exchange);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_MESH_ALL_REDUCE_H_

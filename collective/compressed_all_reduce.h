// All-reduce of floats that travel in 16 bits: a mesh (mesh_all_reduce.h) that moves half the bytes. The
// floats must have been rounded (RoundInPlace); the sums come rounded as well, by their owner, so that all
// ranks have what travelled. Doubles travel as they are.
#ifndef LOCKSTEP_COLLECTIVE_COMPRESSED_ALL_REDUCE_H_
#define LOCKSTEP_COLLECTIVE_COMPRESSED_ALL_REDUCE_H_

#include "absl/status/status.h"
#include "collective/communicator.h"
#include "collective/exchange.h"

namespace lockstep {

// Sums `buffers` over all ranks, in place; options().compression is not kNone. Blocks.
absl::Status CompressedAllReduce(const ReduceBuffers& buffers, Exchange* exchange);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_COMPRESSED_ALL_REDUCE_H_

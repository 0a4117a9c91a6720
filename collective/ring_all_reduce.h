// Ring all-reduce: see ring_schedule.h for who sends what, chunked_buffers.h for how buffers are cut.
#ifndef LOCKSTEP_COLLECTIVE_RING_ALL_REDUCE_H_
#define LOCKSTEP_COLLECTIVE_RING_ALL_REDUCE_H_

#include "absl/status/status.h"
#include "collective/communicator.h"
#include "collective/exchange.h"

namespace lockstep {

// Sums the buffers over all ranks, in place. Blocks.
absl::Status RingAllReduce(const ReduceBuffers& buffers, Exchange* exchange);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_RING_ALL_REDUCE_H_

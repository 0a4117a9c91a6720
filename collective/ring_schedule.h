// What each rank does in each step of a ring all-reduce: which chunk it sends to `next` (rank + 1), which it
// receives from `prev` (rank - 1), and whether it adds what it receives or overwrites with it.
//
// The buffer is cut into world_size chunks. In the reduce-scatter half, steps 0 .. n-2, partial sums travel:
// chunk c starts at rank c+1 and ends at rank c, which then owns the finished sum. In the all-gather half,
// steps n-1 .. 2n-3, the finished chunks travel once round. So chunk c is always summed as
//   ((x[c+1] + x[c+2]) + x[c+3]) + ... + x[c]        (ranks modulo n)
// whatever the timing: the result has the same bits on all ranks and in every run.
//
// Source: Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations".
// A value type: no buffers, no I/O.
#ifndef LOCKSTEP_COLLECTIVE_RING_SCHEDULE_H_
#define LOCKSTEP_COLLECTIVE_RING_SCHEDULE_H_

#include "collective/transport/transport.h"

namespace lockstep {

class RingSchedule {
 public:
  struct Step {
    int send_chunk;     // to next
    int receive_chunk;  // from prev
    ReceiveMode mode;
  };

  // 0 <= rank < world_size.
  RingSchedule(int rank, int world_size) : rank_(rank), world_size_(world_size) {}

  int next() const { return (rank_ + 1) % world_size_; }
  int prev() const { return (rank_ + world_size_ - 1) % world_size_; }

  // 2 (n-1); none for one rank.
  int num_steps() const { return 2 * (world_size_ - 1); }

  // 0 <= index < num_steps().
  Step step(int index) const;

  // The step in which this rank sent its partial sum of the chunk that `index`, a step of the all-gather,
  // receives: that send must be over before the chunk may be overwritten.
  int StepOfReplacedSend(int index) const { return index - (world_size_ - 1); }

 private:
  // `value` modulo n, for value >= -2n.
  int Chunk(int value) const { return (value + 2 * world_size_) % world_size_; }

  int rank_;
  int world_size_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_RING_SCHEDULE_H_

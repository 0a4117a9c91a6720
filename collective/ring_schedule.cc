#include "collective/ring_schedule.h"

namespace lockstep {

RingSchedule::Step RingSchedule::step(int index) const {
  const int half = world_size_ - 1;
  if (index < half) {
    // Chunk c starts at rank c+1: rank r sends chunk r-1 first, and then what it has just added to.
    return {Chunk(rank_ - 1 - index), Chunk(rank_ - 2 - index), ReceiveMode::kAdd};
  }
  const int gather = index - half;
  return {Chunk(rank_ - gather), Chunk(rank_ - 1 - gather), ReceiveMode::kOverwrite};
}

}  // namespace lockstep

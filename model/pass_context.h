// What a pass through the network depends on besides parameters and features.
#ifndef LOCKSTEP_MODEL_PASS_CONTEXT_H_
#define LOCKSTEP_MODEL_PASS_CONTEXT_H_

#include <cstdint>

namespace lockstep {

struct PassContext {
  bool training = false;  // dropout is active, and Backward may follow
  // Random values depend on (seed, step, first_row + row, element) alone: not on rank, thread or how the
  // global batch is divided.
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_row = 0;  // position of row 0 in the global batch
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_PASS_CONTEXT_H_

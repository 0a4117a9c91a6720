// Sets random elements to zero. Which ones is a pure function of (stream, row, column), so that the mask need
// not be kept: the gradient is the same function applied to the output's gradient.
#ifndef LOCKSTEP_MODEL_KERNELS_DROPOUT_H_
#define LOCKSTEP_MODEL_KERNELS_DROPOUT_H_

#include <cstdint>

#include "model/kernels/matrix_size.h"

namespace lockstep {

struct DropoutMask {
  float rate = 0;  // probability of zero, in [0, 1)
  // Together the name of a stream of random values.
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_row = 0;  // position of row 0 in the stream
};

// y = 0 with probability rate, else x / (1 - rate), so that the expected value is x. Overwrites y, which may
// be x itself.
void ApplyDropout(const DropoutMask& mask, MatrixSize size, const float* x, float* y);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_DROPOUT_H_

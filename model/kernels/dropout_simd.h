// The function of dropout.h for one instruction set each.
#ifndef LOCKSTEP_MODEL_KERNELS_DROPOUT_SIMD_H_
#define LOCKSTEP_MODEL_KERNELS_DROPOUT_SIMD_H_

#include <cstdint>

#include "model/kernels/matrix_size.h"

namespace lockstep {

struct DropoutStream {
  uint64_t key = 0;  // of base/random.h's Philox
  uint64_t step = 0;
  int64_t first_row = 0;
  uint32_t threshold = 0;  // elements whose word is below it become 0
  float scale = 1;         // of the others
};

namespace avx2 {

void ApplyDropout(const DropoutStream& stream, MatrixSize size, const float* x, float* y);

}  // namespace avx2
namespace avx512 {

void ApplyDropout(const DropoutStream& stream, MatrixSize size, const float* x, float* y);

}  // namespace avx512
}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_DROPOUT_SIMD_H_

// Loops over gradients between the reduction and the update, compiled once per instruction set.
//
// Sums of squares are taken in double in a fixed order: element i of a block of 4096 goes to lane i mod 16,
// the lanes of a block are added in order, then the blocks. So neither the instruction set nor the alignment
// changes a bit.
#ifndef LOCKSTEP_MODEL_GRADIENT_KERNELS_H_
#define LOCKSTEP_MODEL_GRADIENT_KERNELS_H_

#include <cstdint>

#include "base/cpu.h"

namespace lockstep {

struct GradientKernels {
  // g = g / weight + factor * p. Returns the sum of the squares of the new g: non-finite exactly if one of
  // them is (no sum of squares of floats overflows a double). `parameters` is not read if factor is 0.
  double (*finish)(float weight, float factor, const float* parameters, float* gradients, int64_t size);
  double (*sum_of_squares)(const float* values, int64_t size);
  // v *= factor
  void (*scale)(float factor, float* values, int64_t size);
  // v = min(max(v, -limit), limit)
  void (*clamp)(float limit, float* values, int64_t size);
};

namespace avx2 {
extern const GradientKernels kGradientKernels;
}  // namespace avx2
namespace avx512 {
extern const GradientKernels kGradientKernels;
}  // namespace avx512

inline const GradientKernels& GradientKernelsFor(InstructionSet set) {
  return set == InstructionSet::kAvx512 ? avx512::kGradientKernels : avx2::kGradientKernels;
}

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_GRADIENT_KERNELS_H_

#include "model/kernels/activation.h"

#include "base/cpu.h"
#include "model/kernels/activation_simd.h"

namespace lockstep {

void ActivationForward(const Activation& activation, MatrixSize size, const float* x, float* y) {
  if (BestInstructionSet() == InstructionSet::kAvx512) {
    avx512::ActivationForward(activation, size, x, y);
  } else {
    avx2::ActivationForward(activation, size, x, y);
  }
}

void ActivationBackward(const Activation& activation, MatrixSize size, const float* x, const float* y,
                        const float* dy, float* dx) {
  if (BestInstructionSet() == InstructionSet::kAvx512) {
    avx512::ActivationBackward(activation, size, x, y, dy, dx);
  } else {
    avx2::ActivationBackward(activation, size, x, y, dy, dx);
  }
}

}  // namespace lockstep

// The functions of activation.h for one instruction set each.
#ifndef LOCKSTEP_MODEL_KERNELS_ACTIVATION_SIMD_H_
#define LOCKSTEP_MODEL_KERNELS_ACTIVATION_SIMD_H_

#include "model/kernels/activation_function.h"
#include "model/kernels/matrix_size.h"

namespace lockstep {
namespace avx2 {

void ActivationForward(const Activation& activation, MatrixSize size, const float* x, float* y);
void ActivationBackward(const Activation& activation, MatrixSize size, const float* x, const float* y,
                        const float* dy, float* dx);

}  // namespace avx2
namespace avx512 {

void ActivationForward(const Activation& activation, MatrixSize size, const float* x, float* y);
void ActivationBackward(const Activation& activation, MatrixSize size, const float* x, const float* y,
                        const float* dy, float* dx);

}  // namespace avx512
}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_ACTIVATION_SIMD_H_

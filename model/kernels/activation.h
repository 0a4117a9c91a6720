// Values and gradients of activation functions, elementwise or (softmax) over each row. A NaN in x gives a
// NaN in y, so that a diverged model is seen in its loss.
//
// Pure functions, thread-safe.
#ifndef LOCKSTEP_MODEL_KERNELS_ACTIVATION_H_
#define LOCKSTEP_MODEL_KERNELS_ACTIVATION_H_

#include "model/kernels/activation_function.h"
#include "model/kernels/matrix_size.h"

namespace lockstep {

// Overwrites y, which may be x itself.
void ActivationForward(const Activation& activation, MatrixSize size, const float* x, float* y);

// Overwrites dx, the gradient of x, from dy, that of y. dx may be dy itself. x is read for GELU only and may
// be null for the others: their gradients follow from y, so that x need not be kept.
void ActivationBackward(const Activation& activation, MatrixSize size, const float* x, const float* y,
                        const float* dy, float* dx);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_ACTIVATION_H_

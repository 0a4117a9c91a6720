// The kernels of this folder, naively and in double, with the same signatures: oracles for tests.
#ifndef LOCKSTEP_MODEL_KERNELS_REFERENCE_KERNELS_H_
#define LOCKSTEP_MODEL_KERNELS_REFERENCE_KERNELS_H_

#include "model/kernels/activation_function.h"
#include "model/kernels/dropout.h"
#include "model/kernels/matrix_product.h"
#include "model/kernels/matrix_size.h"

namespace lockstep::reference {

void ActivationForward(const Activation& activation, MatrixSize size, const double* x, double* y);
// From the definition of the derivative in x; y is not read.
void ActivationBackward(const Activation& activation, MatrixSize size, const double* x, const double* y,
                        const double* dy, double* dx);

void ColumnSums(MatrixSize size, const double* matrix, double* sums);

void ApplyDropout(const DropoutMask& mask, MatrixSize size, const double* x, double* y);

// `bias` is read if the options have one.
void Product(const MatrixProduct::Options& options, const double* a, const double* b, const double* bias,
             double* c);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_MODEL_KERNELS_REFERENCE_KERNELS_H_

// Sums over the rows of a matrix: the gradient of a bias.
#ifndef LOCKSTEP_MODEL_KERNELS_COLUMN_SUMS_H_
#define LOCKSTEP_MODEL_KERNELS_COLUMN_SUMS_H_

#include "model/kernels/matrix_size.h"

namespace lockstep {

// Overwrites sums [columns]. The order of additions depends on the size alone.
void ColumnSums(MatrixSize size, const float* matrix, float* sums);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_COLUMN_SUMS_H_

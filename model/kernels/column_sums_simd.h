// The function of column_sums.h for one instruction set each.
#ifndef LOCKSTEP_MODEL_KERNELS_COLUMN_SUMS_SIMD_H_
#define LOCKSTEP_MODEL_KERNELS_COLUMN_SUMS_SIMD_H_

#include "model/kernels/matrix_size.h"

namespace lockstep {
namespace avx2 {

void ColumnSums(MatrixSize size, const float* matrix, float* sums);

}  // namespace avx2
namespace avx512 {

void ColumnSums(MatrixSize size, const float* matrix, float* sums);

}  // namespace avx512
}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_COLUMN_SUMS_SIMD_H_

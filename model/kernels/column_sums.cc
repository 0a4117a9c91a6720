#include "model/kernels/column_sums.h"

#include "base/cpu.h"
#include "model/kernels/column_sums_simd.h"

namespace lockstep {

void ColumnSums(MatrixSize size, const float* matrix, float* sums) {
  if (BestInstructionSet() == InstructionSet::kAvx512) {
    avx512::ColumnSums(size, matrix, sums);
  } else {
    avx2::ColumnSums(size, matrix, sums);
  }
}

}  // namespace lockstep

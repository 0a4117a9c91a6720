// Rows and columns of a row-major matrix without gaps between rows.
#ifndef LOCKSTEP_MODEL_KERNELS_MATRIX_SIZE_H_
#define LOCKSTEP_MODEL_KERNELS_MATRIX_SIZE_H_

#include <cstdint>

namespace lockstep {

struct MatrixSize {
  int64_t rows = 0;
  int64_t columns = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_MATRIX_SIZE_H_

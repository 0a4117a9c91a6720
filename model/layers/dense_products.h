// The three matrix products of a dense layer for one number of rows (B rows, I inputs, O units). One-thread.
#ifndef LOCKSTEP_MODEL_LAYERS_DENSE_PRODUCTS_H_
#define LOCKSTEP_MODEL_LAYERS_DENSE_PRODUCTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "model/kernels/matrix_product.h"

namespace lockstep {

struct DenseProducts {
  // Errors: INTERNAL oneDNN has no code for one of them.
  static absl::StatusOr<DenseProducts> Create(int64_t rows, int64_t inputs, int64_t units,
                                              MatrixProduct::Bias bias);

  std::unique_ptr<MatrixProduct> output;           // x [B, I] . kernel [I, O] (+ bias [O])
  std::unique_ptr<MatrixProduct> kernel_gradient;  // x^T . dz [B, O]
  std::unique_ptr<MatrixProduct> input_gradient;   // dz . kernel^T
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYERS_DENSE_PRODUCTS_H_

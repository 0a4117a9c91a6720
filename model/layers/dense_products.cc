#include "model/layers/dense_products.h"

#include "base/status_macros.h"

namespace lockstep {

absl::StatusOr<DenseProducts> DenseProducts::Create(int64_t rows, int64_t inputs, int64_t units,
                                                    MatrixProduct::Bias bias) {
  MatrixProduct::Options output;
  output.m = rows;
  output.k = inputs;
  output.n = units;
  output.bias = bias;

  MatrixProduct::Options kernel_gradient;
  kernel_gradient.m = inputs;
  kernel_gradient.k = rows;
  kernel_gradient.n = units;
  kernel_gradient.a = MatrixProduct::Layout::kTransposed;

  MatrixProduct::Options input_gradient;
  input_gradient.m = rows;
  input_gradient.k = units;
  input_gradient.n = inputs;
  input_gradient.b = MatrixProduct::Layout::kTransposed;

  DenseProducts products;
  ASSIGN_OR_RETURN(products.output, MatrixProduct::Create(output));
  ASSIGN_OR_RETURN(products.kernel_gradient, MatrixProduct::Create(kernel_gradient));
  ASSIGN_OR_RETURN(products.input_gradient, MatrixProduct::Create(input_gradient));
  return products;
}

}  // namespace lockstep

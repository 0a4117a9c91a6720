// C = op(A) . op(B) (+ bias) for matrices of one fixed size, by oneDNN. The choice of code for the processor
// is made once, at creation; a run only executes it. op is the identity or the transposition, which costs
// nothing: the matrices stay as they are.
//
// Why oneDNN's matmul and not its inner product: the two are equally fast on layers of 512 and more, and
// matmul takes half the time on small ones (32 rows, 20 inputs, 32 units: 0.70 against 1.14 us).
//
// Equal inputs give equal bits as long as size, thread count and processor are the same. One-thread.
#ifndef LOCKSTEP_MODEL_KERNELS_MATRIX_PRODUCT_H_
#define LOCKSTEP_MODEL_KERNELS_MATRIX_PRODUCT_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lockstep {

class MatrixProduct {
 public:
  enum class Layout { kPlain, kTransposed };
  enum class Bias { kNone, kAdded };

  // A [m, k] . B [k, n] = C [m, n], all row-major. A transposed operand is stored [k, m] or [n, k].
  struct Options {
    int64_t m = 0, n = 0, k = 0;
    Layout a = Layout::kPlain;
    Layout b = Layout::kPlain;
    Bias bias = Bias::kNone;
  };

  // Must be called, as Run, with the thread count of the run (ThreadScope): oneDNN divides the work here.
  // Errors: INTERNAL oneDNN has no code for this product.
  static absl::StatusOr<std::unique_ptr<MatrixProduct>> Create(const Options& options);
  ~MatrixProduct();

  // Overwrites c. `bias` [n] is read only if the product was created with one.
  // Errors: INTERNAL oneDNN failed.
  absl::Status Run(const float* a, const float* b, const float* bias, float* c);

 private:
  struct Primitive;
  explicit MatrixProduct(std::unique_ptr<Primitive> primitive);

  const std::unique_ptr<Primitive> primitive_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_MATRIX_PRODUCT_H_

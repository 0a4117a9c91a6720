// C = op(A) . op(B) (+ bias) for matrices of one fixed size, by oneDNN. The choice of code for the processor
// is made once, at creation; a run only executes it. op is the identity or the transposition, which costs
// nothing: the matrices stay as they are.
//
// Why oneDNN's matmul and not its inner product: on small layers it takes half to three quarters of the time
// (32 rows, 20 inputs, 32 units: 0.70 against 1.14 us). The price is paid on wide ones: at 128 rows and 4096
// x 4096 the kernel's gradient takes 1.2 to 1.3 times as long. In between neither is ahead by more than the
// noise. One thread, plain layouts, oneDNN 2.6.3 with AVX-512, a shared machine.
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

// What happens to the gradient between the reduction over ranks and the optimizer: the one division by the
// weight of the global batch, the gradient of the regularisers, the search for non-finite values, clipping.
// Everything is decided from reduced values, hence alike on all ranks, bit by bit: the result depends neither
// on the instruction set nor on the number of threads. Immutable, thread-safe.
#ifndef LOCKSTEP_MODEL_GRADIENT_FINISH_H_
#define LOCKSTEP_MODEL_GRADIENT_FINISH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/cpu.h"
#include "model/gradient_kernels.h"

namespace lockstep {

namespace v1 {
class Optimizer;
}  // namespace v1

// One variable in the flat buffers.
struct ParameterRange {
  int64_t offset = 0;
  int64_t size = 0;
  float l2 = 0;  // of the regulariser l2 * sum(w^2)
};

struct GradientSummary {
  bool finite = true;  // no element is NaN or infinite
  double norm = 0;     // of the finished gradient, before clipping
};

class GradientFinisher {
 public:
  // `ranges` ascend without overlap within [0, total); gaps are padding and are not touched. The clipping is
  // that of `spec`. `instruction_set` chooses code, never results.
  // Errors: INVALID_ARGUMENT more than one kind of clipping, one that is not above 0, a range out of place.
  static absl::StatusOr<std::unique_ptr<GradientFinisher>> Create(
      const v1::Optimizer& spec, std::vector<ParameterRange> ranges, int64_t total,
      InstructionSet instruction_set = BestInstructionSet());

  // Finishes a reduced gradient in place: divides by `weight` (that of the global batch, above 0), adds
  // 2 * l2 * parameter, and clips unless a value is non-finite. Both spans have `total` elements.
  GradientSummary Finish(double weight, absl::Span<const float> parameters,
                         absl::Span<float> gradients) const;

  // Sum of l2 * sum(w^2): what the regularisers add to the mean loss of a batch.
  double RegularizationLoss(absl::Span<const float> parameters) const;

 private:
  enum class Clipping { kNone, kNormOfEach, kValue, kGlobalNorm };

  GradientFinisher(Clipping clipping, float limit, std::vector<ParameterRange> ranges, int64_t total,
                   const GradientKernels& kernels);

  // `squares` holds each range's sum of squares.
  void Clip(const std::vector<double>& squares, double norm, absl::Span<float> gradients) const;
  // Scales a range whose norm (its own, or the global one) exceeds the limit down to it.
  void LimitNorm(const ParameterRange& range, double norm, absl::Span<float> gradients) const;

  const Clipping clipping_;
  const float limit_;
  const std::vector<ParameterRange> ranges_;
  const int64_t total_;
  const GradientKernels& kernels_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_GRADIENT_FINISH_H_

// What training makes small, as sums over rows: a rank adds its rows up, and the one division by the
// weight of the global batch comes after the reduction over ranks (model/gradient_finish.h).
//
// Names and numerics are Keras's. The loss of one row is the mean over its output elements (elementwise
// losses) or over its distributions (cross-entropy over the last axis). Thread-compatible, immutable.
#ifndef LOCKSTEP_MODEL_LOSS_H_
#define LOCKSTEP_MODEL_LOSS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/labels.h"

namespace lockstep {

namespace v1 {
class Loss;
enum Activation : int;
}  // namespace v1

class Loss {
 public:
  // `output_shape` is that of one row of the network's output.
  // Errors: INVALID_ARGUMENT when no loss is chosen, a parameter is out of range or the shape does not fit.
  static absl::StatusOr<std::unique_ptr<Loss>> Create(const v1::Loss& spec,
                                                      const std::vector<int64_t>& output_shape);
  virtual ~Loss() = default;

  const LabelRequirement& labels() const { return labels_; }

  // Returns the sum over rows of each row's loss, accumulated in double. `output_gradient` (may be null) is
  // overwritten with the gradient of that sum; it may not overlap `outputs`. Both are [rows, output_shape].
  // `rows` may be 0. The labels fit labels() and class numbers are in range (CheckClasses): else it dies.
  // A non-finite output makes the result non-finite.
  virtual double SumAndGradient(const float* outputs, const Labels& labels, int64_t rows,
                                float* output_gradient) const = 0;

 protected:
  explicit Loss(LabelRequirement labels) : labels_(std::move(labels)) {}

 private:
  const LabelRequirement labels_;
};

// Refuses a last activation that makes probabilities (softmax, sigmoid) in front of a loss that expects
// logits: softmax would be applied twice, and training looks stuck.
// Errors: INVALID_ARGUMENT says which of the two to change.
absl::Status CheckActivationFitsLoss(v1::Activation last_activation, const v1::Loss& loss);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LOSS_H_

// The learning rate as a pure function of the step. Formulas are those of Keras's schedules, computed in
// double. Immutable, thread-safe.
#ifndef LOCKSTEP_MODEL_LEARNING_RATE_H_
#define LOCKSTEP_MODEL_LEARNING_RATE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace lockstep {

namespace v1 {
class LearningRate;
}  // namespace v1

class LearningRate {
 public:
  // A constant `default_rate` when `spec` is null or chooses no schedule.
  // Errors: INVALID_ARGUMENT names the field that is out of range.
  static absl::StatusOr<std::unique_ptr<LearningRate>> Create(const v1::LearningRate* spec,
                                                              double default_rate);
  virtual ~LearningRate() = default;

  // `step` is the number of updates done before: 0 for the first one.
  virtual double At(int64_t step) const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LEARNING_RATE_H_

// Turns the finished gradient of the global batch into new parameters. All ranks do the same with the same
// bits, so their parameters stay equal.
//
// The update is elementwise over flat buffers: disjoint ranges of them may be applied by several threads at
// once with the same result. Formulas, defaults and slot names are Keras's; they are written out in
// model/update_kernels.h. Immutable, thread-safe.
#ifndef LOCKSTEP_MODEL_OPTIMIZER_H_
#define LOCKSTEP_MODEL_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/cpu.h"
#include "model/learning_rate.h"
#include "model/update_kernels.h"

namespace lockstep {

namespace v1 {
class Optimizer;
}  // namespace v1

// One array of the optimizer's state, as long as the parameters.
struct SlotSpec {
  std::string name;
  float initial;  // every element before the first step
};

class Optimizer {
 public:
  // Adam with its defaults when no kind is chosen. `instruction_set` chooses code, never results.
  // Errors: INVALID_ARGUMENT names the hyperparameter that is out of range.
  static absl::StatusOr<std::unique_ptr<Optimizer>> Create(
      const v1::Optimizer& spec, InstructionSet instruction_set = BestInstructionSet());
  virtual ~Optimizer() = default;

  const std::string& name() const { return name_; }
  const std::vector<SlotSpec>& slots() const { return slots_; }
  // `step` is the number of updates done before.
  double LearningRateAt(int64_t step) const { return learning_rate_->At(step); }

  // Does one update in place. `step` counts from 1 (bias correction), `learning_rate` is
  // LearningRateAt(step - 1). One span for each of slots(), in that order. All spans have the same length
  // and do not overlap; any alignment. A zero gradient leaves zero parameters with initial slots at zero,
  // except for the sign: padding stays padding.
  void Apply(int64_t step, double learning_rate, absl::Span<const float> gradients,
             absl::Span<float> parameters, absl::Span<const absl::Span<float>> slots) const;

 protected:
  Optimizer(std::string name, std::vector<SlotSpec> slots, std::unique_ptr<LearningRate> learning_rate);

 private:
  virtual void Update(int64_t step, double learning_rate, const UpdateBuffers& buffers) const = 0;

  const std::string name_;
  const std::vector<SlotSpec> slots_;
  const std::unique_ptr<LearningRate> learning_rate_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_OPTIMIZER_H_

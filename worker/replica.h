// One full copy of what is trained: network, loss, metrics, optimizer and the flat buffers of their state.
//
// Parameters and every optimizer slot are one allocation each, in the same layout as the gradients of a step
// (train_step.h), so that updating, saving and hashing are loops over one array. All ranks hold the same bits
// after each step. Thread-compatible.
#ifndef LOCKSTEP_WORKER_REPLICA_H_
#define LOCKSTEP_WORKER_REPLICA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/aligned_buffer.h"
#include "worker/compiled_model.h"

namespace lockstep {

namespace v1 {
class Compile;
class Model;
}  // namespace v1

class Replica {
 public:
  // Errors: INVALID_ARGUMENT naming the field of the specification. RESOURCE_EXHAUSTED: more state than this
  // machine has memory.
  static absl::StatusOr<std::unique_ptr<Replica>> Create(const v1::Model& model, const v1::Compile& compile);

  // Sets parameters to the initialisers' values for `seed`, slots to their initial values, step to 0.
  void Initialize(uint64_t seed);

  // Slots to their initial values.
  void ResetSlots();

  Network& network() { return *compiled_.network; }
  const Network& network() const { return *compiled_.network; }
  const Loss& loss() const { return *compiled_.loss; }
  const std::vector<std::unique_ptr<Metric>>& metrics() const { return compiled_.metrics; }
  std::vector<std::string> MetricNames() const;
  const CompiledModel& compiled() const { return compiled_; }
  const Optimizer& optimizer() const { return *compiled_.optimizer; }
  const GradientFinisher& finisher() const { return *compiled_.finisher; }

  absl::Span<float> parameters() const { return parameters_.span(); }
  const std::vector<absl::Span<float>>& slots() const { return slot_spans_; }

  // Updates applied so far.
  int64_t step() const { return step_; }
  void set_step(int64_t step) { step_ = step; }

  // One update from finished gradients; counts it.
  void Update(double learning_rate, absl::Span<const float> gradients);

  // The first parameter whose gradient has a value that is not finite, for messages; empty if there is none.
  std::string NonFiniteGradient(absl::Span<const float> gradients) const;

  // Of the bits of parameters and slots.
  uint64_t Hash() const;
  // The same from the Hash64 of each: the parameters' first, then those of the slots.
  static uint64_t CombineHashes(absl::Span<const uint64_t> hashes);
  // Of the bits of the parameters alone.
  uint64_t ParameterHash() const;

 private:
  explicit Replica(CompiledModel compiled);

  CompiledModel compiled_;
  AlignedBuffer<float> parameters_;
  std::vector<AlignedBuffer<float>> slots_;
  std::vector<absl::Span<float>> slot_spans_;
  int64_t step_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_REPLICA_H_

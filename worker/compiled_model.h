// A model with its loss, metrics and optimizer, checked against each other, before any memory is taken for
// its state.
#ifndef LOCKSTEP_WORKER_COMPILED_MODEL_H_
#define LOCKSTEP_WORKER_COMPILED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/gradient_finish.h"
#include "model/loss.h"
#include "model/metric.h"
#include "model/network.h"
#include "model/optimizer.h"

namespace lockstep {

namespace v1 {
class Compile;
class Model;
}  // namespace v1

struct CompiledModel {
  std::unique_ptr<Network> network;
  std::unique_ptr<Loss> loss;
  std::vector<std::unique_ptr<Metric>> metrics;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<GradientFinisher> finisher;

  // Of parameters, gradients and optimizer slots on one rank.
  int64_t StateBytes() const;
};

enum class Validation { kNone, kEachEpoch };

// What callbacks may watch: "loss", the metrics, and the same with "val_" if there is validation.
std::vector<std::string> MonitorNames(const CompiledModel& model, Validation validation);

// Errors: INVALID_ARGUMENT naming the field of the specification.
absl::StatusOr<CompiledModel> CompileModel(const v1::Model& model, const v1::Compile& compile);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_COMPILED_MODEL_H_

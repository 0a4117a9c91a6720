#include "worker/compiled_model.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

// Whether values from 0 to 1, as softmax and sigmoid give, stay what they are.
bool KeepsProbabilities(v1::Activation activation) {
  return activation == v1::LINEAR || activation == v1::ACTIVATION_UNSPECIFIED || activation == v1::RELU ||
         activation == v1::LEAKY_RELU || activation == v1::ELU;
}

// What the outputs have gone through last. Layers that hand a probability on as it is are looked through.
v1::Activation LastActivation(const v1::Model& model) {
  for (auto layer = model.layers().rbegin(); layer != model.layers().rend(); ++layer) {
    if (layer->has_dense()) return layer->dense().activation();
    if (layer->has_activation() && !KeepsProbabilities(layer->activation().function()))
      return layer->activation().function();
  }
  return v1::LINEAR;
}

// The parts name a field from their own message on; the user has to find it in the whole specification.
template <typename T>
absl::StatusOr<T> Below(absl::string_view path, absl::StatusOr<T> part) {
  if (part.ok() || absl::StartsWith(part.status().message(), "compile.")) return part;
  return absl::Status(part.status().code(), absl::StrCat(path, part.status().message()));
}

}  // namespace

absl::StatusOr<CompiledModel> CompileModel(const v1::Model& model, const v1::Compile& compile) {
  CompiledModel compiled;
  ASSIGN_OR_RETURN(compiled.network, Network::Create(model));
  const Network& network = *compiled.network;
  ASSIGN_OR_RETURN(compiled.loss,
                   Below("compile.loss.", Loss::Create(compile.loss(), network.output_shape())));
  RETURN_IF_ERROR(CheckActivationFitsLoss(LastActivation(model), compile.loss()));
  ASSIGN_OR_RETURN(compiled.metrics,
                   Below("compile.metrics: ", CreateMetrics(compile, network.output_shape())));
  ASSIGN_OR_RETURN(compiled.optimizer, Below("compile.optimizer.", Optimizer::Create(compile.optimizer())));

  std::vector<ParameterRange> ranges;
  for (const Parameter& parameter : network.layout().parameters())
    ranges.push_back({parameter.offset, parameter.size, parameter.l2});
  ASSIGN_OR_RETURN(compiled.finisher,
                   Below("compile.", GradientFinisher::Create(compile.optimizer(), std::move(ranges),
                                                              network.layout().size())));
  return compiled;
}

std::vector<std::string> MonitorNames(const CompiledModel& model, Validation validation) {
  std::vector<std::string> names = {"loss"};
  for (const std::unique_ptr<Metric>& metric : model.metrics) names.push_back(metric->name());
  if (validation == Validation::kNone) return names;
  const size_t training = names.size();
  for (size_t i = 0; i < training; ++i) names.push_back(absl::StrCat("val_", names[i]));
  return names;
}

int64_t CompiledModel::StateBytes() const {
  const int64_t buffers = 2 + static_cast<int64_t>(optimizer->slots().size());
  return buffers * network->layout().size() * static_cast<int64_t>(sizeof(float));
}

}  // namespace lockstep

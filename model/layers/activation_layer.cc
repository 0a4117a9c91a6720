#include "model/layers/activation_layer.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "model/kernels/activation.h"
#include "model/layers/activation_factory.h"
#include "proto/model.pb.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<ActivationLayer>> ActivationLayer::Create(std::string name,
                                                                         const Shape& input_shape,
                                                                         const v1::ActivationLayer& spec) {
  if (spec.function() == v1::ACTIVATION_UNSPECIFIED) {
    return absl::InvalidArgumentError("function is missing, for example function: RELU");
  }
  const std::optional<float> slope =
      spec.has_leaky_relu_slope() ? std::optional<float>(spec.leaky_relu_slope()) : std::nullopt;
  ASSIGN_OR_RETURN(const Activation activation, MakeActivation(spec.function(), slope));
  LayerInfo info;
  info.name = std::move(name);
  info.kind = "activation";
  info.input_shape = input_shape;
  info.output_shape = input_shape;
  info.softmax = activation.function == ActivationFunction::kSoftmax;
  info.flops_per_row = NumElements(input_shape);
  return std::unique_ptr<ActivationLayer>(new ActivationLayer(std::move(info), activation));
}

ActivationLayer::ActivationLayer(LayerInfo info, const Activation& activation)
    : Layer(std::move(info)), activation_(activation) {}

bool ActivationLayer::PassesThrough(const PassContext&) const {
  return activation_.function == ActivationFunction::kLinear;
}

absl::Status ActivationLayer::Prepare(int64_t) { return absl::OkStatus(); }

MatrixSize ActivationLayer::SizeOf(int64_t rows) const {
  const int64_t columns = info().input_shape.back();
  return {rows * (NumElements(info().input_shape) / columns), columns};
}

absl::Status ActivationLayer::Forward(const ForwardArgs& args) {
  ActivationForward(activation_, SizeOf(args.rows), args.input, args.output);
  return absl::OkStatus();
}

absl::Status ActivationLayer::Backward(const BackwardArgs& args) {
  if (args.input_gradient == nullptr) return absl::OkStatus();
  ActivationBackward(activation_, SizeOf(args.rows), args.input, args.output, args.output_gradient,
                     args.input_gradient);
  return absl::OkStatus();
}

}  // namespace lockstep

#include "model/layers/activation_factory.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

absl::StatusOr<ActivationFunction> MakeFunction(int function) {
  switch (function) {
    case v1::ACTIVATION_UNSPECIFIED:
    case v1::LINEAR:
      return ActivationFunction::kLinear;
    case v1::RELU:
      return ActivationFunction::kRelu;
    case v1::LEAKY_RELU:
      return ActivationFunction::kLeakyRelu;
    case v1::ELU:
      return ActivationFunction::kElu;
    case v1::GELU:
      return ActivationFunction::kGelu;
    case v1::SIGMOID:
      return ActivationFunction::kSigmoid;
    case v1::TANH:
      return ActivationFunction::kTanh;
    case v1::SOFTMAX:
      return ActivationFunction::kSoftmax;
  }
  return absl::InvalidArgumentError(absl::StrCat("activation is ", function, ", which names no function"));
}

}  // namespace

absl::StatusOr<Activation> MakeActivation(int function, std::optional<float> leaky_relu_slope) {
  Activation activation;
  ASSIGN_OR_RETURN(activation.function, MakeFunction(function));
  if (!leaky_relu_slope.has_value()) return activation;
  if (activation.function != ActivationFunction::kLeakyRelu) {
    return absl::InvalidArgumentError("leaky_relu_slope is set but the activation is not LEAKY_RELU");
  }
  if (!std::isfinite(*leaky_relu_slope) || *leaky_relu_slope < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("leaky_relu_slope is ", *leaky_relu_slope, ", must be finite and at least 0"));
  }
  activation.leaky_relu_slope = *leaky_relu_slope;
  return activation;
}

}  // namespace lockstep

// Activation functions from their specification.
#ifndef LOCKSTEP_MODEL_LAYERS_ACTIVATION_FACTORY_H_
#define LOCKSTEP_MODEL_LAYERS_ACTIVATION_FACTORY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "model/kernels/activation_function.h"

namespace lockstep {

// `function` is a v1::Activation, as a number since a message may hold any.
// Errors: INVALID_ARGUMENT no such function; slope below 0, not finite, or given for another function.
absl::StatusOr<Activation> MakeActivation(int function, std::optional<float> leaky_relu_slope);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LAYERS_ACTIVATION_FACTORY_H_

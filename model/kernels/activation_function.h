// The activation functions y = f(x), with Keras's definitions.
#ifndef LOCKSTEP_MODEL_KERNELS_ACTIVATION_FUNCTION_H_
#define LOCKSTEP_MODEL_KERNELS_ACTIVATION_FUNCTION_H_

namespace lockstep {

enum class ActivationFunction {
  kLinear,
  kRelu,
  kLeakyRelu,  // x for x > 0, else slope * x
  kElu,        // x for x > 0, else e^x - 1
  kGelu,       // x * Phi(x), the exact form; Hendrycks & Gimpel 2016
  kSigmoid,
  kTanh,
  kSoftmax,  // over the columns; the row's maximum is subtracted, so that no exponential overflows
};

struct Activation {
  ActivationFunction function = ActivationFunction::kLinear;
  float leaky_relu_slope = 0.3f;  // at least 0
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_ACTIVATION_FUNCTION_H_

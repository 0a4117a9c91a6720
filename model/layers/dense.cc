#include "model/layers/dense.h"

#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/initializer_factory.h"
#include "model/kernels/activation.h"
#include "model/kernels/column_sums.h"
#include "model/layers/activation_factory.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

// Row counts for which code is kept. A job has few (training, validation, the last batch of each); the bound
// is for callers that pass every count there is.
constexpr size_t kMaxRowCounts = 16;

absl::StatusOr<ParameterSpec> MakeParameter(std::string name, Shape shape, const v1::Initializer& initializer,
                                            const v1::Regularizer& regularizer) {
  ParameterSpec parameter;
  if (absl::StatusOr<int64_t> elements = CheckShape(shape); !elements.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", elements.status().message()));
  }
  absl::StatusOr<Initializer> made = MakeInitializer(initializer, shape);
  if (!made.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, "_initializer: ", made.status().message()));
  }
  if (!std::isfinite(regularizer.l2()) || regularizer.l2() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "_regularizer: l2 is ", regularizer.l2(), ", must be finite and at least 0"));
  }
  parameter.name = std::move(name);
  parameter.shape = std::move(shape);
  parameter.initializer = *std::move(made);
  parameter.l2 = regularizer.l2();
  return parameter;
}

// Zeros unless the specification says otherwise.
v1::Initializer BiasInitializer(const v1::Dense& spec) {
  if (spec.bias_initializer().kind_case() != v1::Initializer::KIND_NOT_SET) return spec.bias_initializer();
  v1::Initializer zeros;
  zeros.mutable_zeros();
  return zeros;
}

bool UsesBias(const v1::Dense& spec) { return !spec.has_use_bias() || spec.use_bias(); }

// Fields of a bias that is not there would be passed over in silence.
absl::Status CheckBiasFields(const v1::Dense& spec) {
  if (UsesBias(spec) || (!spec.has_bias_initializer() && !spec.has_bias_regularizer()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(spec.has_bias_regularizer() ? "bias_regularizer" : "bias_initializer",
                   " is set, but use_bias is false: there is no bias"));
}

absl::StatusOr<std::vector<ParameterSpec>> MakeParameters(int64_t inputs, const v1::Dense& spec) {
  std::vector<ParameterSpec> parameters(1);
  ASSIGN_OR_RETURN(parameters[0], MakeParameter("kernel", {inputs, spec.units()}, spec.kernel_initializer(),
                                                spec.kernel_regularizer()));
  if (!UsesBias(spec)) return parameters;
  ASSIGN_OR_RETURN(ParameterSpec bias,
                   MakeParameter("bias", {spec.units()}, BiasInitializer(spec), spec.bias_regularizer()));
  parameters.push_back(std::move(bias));
  return parameters;
}

// Whether the gradient needs the values before the activation.
bool NeedsPreActivation(const Activation& activation) {
  return activation.function == ActivationFunction::kGelu;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dense>> Dense::Create(std::string name, const Shape& input_shape,
                                                     const v1::Dense& spec) {
  if (spec.units() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("units is ", spec.units(), ", must be at least 1"));
  }
  RETURN_IF_ERROR(CheckBiasFields(spec));
  const std::optional<float> slope =
      spec.has_leaky_relu_slope() ? std::optional<float>(spec.leaky_relu_slope()) : std::nullopt;
  ASSIGN_OR_RETURN(const Activation activation, MakeActivation(spec.activation(), slope));

  LayerInfo info;
  ASSIGN_OR_RETURN(info.parameters, MakeParameters(input_shape.back(), spec));
  info.name = std::move(name);
  info.kind = "dense";
  info.input_shape = input_shape;
  info.output_shape = input_shape;
  info.output_shape.back() = spec.units();
  ASSIGN_OR_RETURN(const int64_t outputs, CheckShape(info.output_shape));
  info.softmax = activation.function == ActivationFunction::kSoftmax;
  info.flops_per_row = 2 * outputs * input_shape.back();
  if (activation.function != ActivationFunction::kLinear) info.scratch_per_row = outputs;
  if (NeedsPreActivation(activation)) info.cache_per_row = outputs;
  return std::unique_ptr<Dense>(new Dense(std::move(info), activation));
}

Dense::Dense(LayerInfo info, const Activation& activation)
    : Layer(std::move(info)), activation_(activation) {}

bool Dense::PassesThrough(const PassContext&) const { return false; }

MatrixSize Dense::OutputSize(int64_t rows) const {
  return {rows * (NumElements(info().output_shape) / units()), units()};
}

absl::StatusOr<DenseProducts*> Dense::ProductsFor(int64_t rows) {
  if (const auto found = products_.find(rows); found != products_.end()) return &found->second;
  const MatrixProduct::Bias bias = use_bias() ? MatrixProduct::Bias::kAdded : MatrixProduct::Bias::kNone;
  ASSIGN_OR_RETURN(DenseProducts products,
                   DenseProducts::Create(OutputSize(rows).rows, inputs(), units(), bias));
  if (products_.size() >= kMaxRowCounts) products_.clear();
  return &products_.emplace(rows, std::move(products)).first->second;
}

absl::Status Dense::Prepare(int64_t rows) { return ProductsFor(rows).status(); }

absl::Status Dense::Forward(const ForwardArgs& args) {
  ASSIGN_OR_RETURN(DenseProducts* const products, ProductsFor(args.rows));
  float* const pre_activation = NeedsPreActivation(activation_) ? args.cache : args.output;
  const float* const bias = use_bias() ? args.parameters[1] : nullptr;
  RETURN_IF_ERROR(products->output->Run(args.input, args.parameters[0], bias, pre_activation));
  // Not oneDNN's fused activations: its relu turns a NaN into 0, which would hide a diverged model from the
  // check of the loss, and its other functions are approximations.
  if (activation_.function != ActivationFunction::kLinear) {
    ActivationForward(activation_, OutputSize(args.rows), pre_activation, args.output);
  }
  return absl::OkStatus();
}

absl::Status Dense::Backward(const BackwardArgs& args) {
  ASSIGN_OR_RETURN(DenseProducts* const products, ProductsFor(args.rows));
  const MatrixSize size = OutputSize(args.rows);
  const float* pre_activation_gradient = args.output_gradient;
  if (activation_.function != ActivationFunction::kLinear) {
    ActivationBackward(activation_, size, args.cache, args.output, args.output_gradient, args.scratch);
    pre_activation_gradient = args.scratch;
  }
  RETURN_IF_ERROR(products->kernel_gradient->Run(args.input, pre_activation_gradient, nullptr,
                                                 args.parameter_gradients[0]));
  if (use_bias()) ColumnSums(size, pre_activation_gradient, args.parameter_gradients[1]);
  if (args.input_gradient == nullptr) return absl::OkStatus();
  return products->input_gradient->Run(pre_activation_gradient, args.parameters[0], nullptr,
                                       args.input_gradient);
}

}  // namespace lockstep

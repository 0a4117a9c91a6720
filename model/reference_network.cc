#include "model/reference_network.h"

#include <string>
#include <utility>

#include "base/hash.h"
#include "model/kernels/reference_kernels.h"
#include "model/layer_names.h"
#include "model/layers/activation_factory.h"
#include "model/shape.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using Values = std::vector<double>;

// Values of all rows and the shape of one.
struct Tensor {
  Values values;
  Shape shape;

  MatrixSize size() const { return {static_cast<int64_t>(values.size()) / shape.back(), shape.back()}; }
};

void Activate(int function, Tensor* tensor) {
  const Activation activation = *MakeActivation(function, std::nullopt);
  const Values x = tensor->values;
  reference::ActivationForward(activation, tensor->size(), x.data(), tensor->values.data());
}

Tensor ApplyDense(const v1::Dense& spec, const Parameter& kernel, const Parameter* bias,
                  const Values& parameters, const Tensor& x) {
  MatrixProduct::Options options;
  options.m = x.size().rows;
  options.k = x.size().columns;
  options.n = spec.units();
  if (bias != nullptr) options.bias = MatrixProduct::Bias::kAdded;
  Tensor y{Values(static_cast<size_t>(options.m * options.n)), x.shape};
  y.shape.back() = spec.units();
  reference::Product(options, x.values.data(), parameters.data() + kernel.offset,
                     bias == nullptr ? nullptr : parameters.data() + bias->offset, y.values.data());
  Activate(spec.activation(), &y);
  return y;
}

void ApplyDropout(float rate, const std::string& name, const PassContext& context, Tensor* tensor) {
  if (!context.training) return;
  DropoutMask mask;
  mask.rate = rate;
  mask.seed = context.seed ^ Hash64(name);
  mask.step = context.step;
  mask.first_row = context.first_row;
  const int64_t columns = NumElements(tensor->shape);
  const MatrixSize size = {static_cast<int64_t>(tensor->values.size()) / columns, columns};
  const Values x = tensor->values;
  reference::ApplyDropout(mask, size, x.data(), tensor->values.data());
}

}  // namespace

std::vector<double> ReferenceOutputs(const v1::Model& spec, const ParameterLayout& layout,
                                     const std::vector<double>& parameters,
                                     const std::vector<double>& features, const PassContext& context) {
  const std::vector<std::string> names = *MakeLayerNames(spec);
  Tensor tensor{features, Shape(spec.input().shape().begin(), spec.input().shape().end())};
  for (int i = 0; i < spec.layers_size(); ++i) {
    const v1::Layer& layer = spec.layers(i);
    if (layer.has_dense()) {
      tensor = ApplyDense(layer.dense(), *layout.Find(names[i] + "/kernel"), layout.Find(names[i] + "/bias"),
                          parameters, tensor);
    } else if (layer.has_activation()) {
      Activate(layer.activation().function(), &tensor);
    } else if (layer.has_flatten()) {
      tensor.shape = {NumElements(tensor.shape)};
    } else if (layer.has_reshape()) {
      tensor.shape.assign(layer.reshape().shape().begin(), layer.reshape().shape().end());
    } else if (layer.has_dropout()) {
      ApplyDropout(layer.dropout().rate(), names[i], context, &tensor);
    }
  }
  return tensor.values;
}

}  // namespace lockstep

#include "model/layer_factory.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/layer_names.h"
#include "model/layers/activation_layer.h"
#include "model/layers/dense.h"
#include "model/layers/dropout.h"
#include "model/layers/reshape.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

absl::StatusOr<Shape> InputShape(const v1::Model& spec) {
  Shape shape(spec.input().shape().begin(), spec.input().shape().end());
  if (shape.empty()) {
    return absl::InvalidArgumentError("model.input: shape is missing, for example input { shape: [28, 28] }");
  }
  if (absl::StatusOr<int64_t> elements = CheckShape(shape); !elements.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("model.input: ", elements.status().message()));
  }
  return shape;
}

absl::StatusOr<std::unique_ptr<Layer>> MakeLayer(const v1::Layer& spec, std::string name,
                                                 const Shape& input_shape) {
  switch (spec.kind_case()) {
    case v1::Layer::kDense:
      return Dense::Create(std::move(name), input_shape, spec.dense());
    case v1::Layer::kActivation:
      return ActivationLayer::Create(std::move(name), input_shape, spec.activation());
    case v1::Layer::kFlatten:
      return Reshape::CreateFlatten(std::move(name), input_shape);
    case v1::Layer::kReshape:
      return Reshape::Create(std::move(name), input_shape, spec.reshape());
    case v1::Layer::kDropout:
      return Dropout::Create(std::move(name), input_shape, spec.dropout());
    case v1::Layer::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the kind of layer is missing, for example dense { units: 10 }");
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Layer>>> MakeLayers(const v1::Model& spec) {
  ASSIGN_OR_RETURN(Shape shape, InputShape(spec));
  if (spec.layers().empty())
    return absl::InvalidArgumentError("model: layers is empty, at least one is needed");
  ASSIGN_OR_RETURN(const std::vector<std::string> names, MakeLayerNames(spec));
  std::vector<std::unique_ptr<Layer>> layers;
  for (int i = 0; i < spec.layers_size(); ++i) {
    absl::StatusOr<std::unique_ptr<Layer>> layer = MakeLayer(spec.layers(i), names[i], shape);
    if (!layer.ok()) {
      return absl::Status(layer.status().code(),
                          absl::StrCat("model.layers[", i, "] (", names[i], "): ", layer.status().message()));
    }
    shape = (*layer)->info().output_shape;
    layers.push_back(*std::move(layer));
  }
  return layers;
}

}  // namespace lockstep

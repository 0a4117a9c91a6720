#include "model/loss.h"

#include "absl/strings/str_cat.h"
#include "model/crossentropy_loss.h"
#include "model/elementwise_loss.h"
#include "model/shape.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

// The cross-entropy that the specification holds, or null.
const v1::Loss::Crossentropy* FindCrossentropy(const v1::Loss& loss) {
  switch (loss.kind_case()) {
    case v1::Loss::kSparseCategoricalCrossentropy:
      return &loss.sparse_categorical_crossentropy();
    case v1::Loss::kCategoricalCrossentropy:
      return &loss.categorical_crossentropy();
    case v1::Loss::kBinaryCrossentropy:
      return &loss.binary_crossentropy();
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loss>> Loss::Create(const v1::Loss& spec,
                                                   const std::vector<int64_t>& output_shape) {
  if (auto elements = CheckShape(output_shape); !elements.ok()) return elements.status();
  const v1::Loss::Crossentropy* crossentropy = FindCrossentropy(spec);
  const OutputKind outputs = crossentropy != nullptr && crossentropy->from_logits()
                                 ? OutputKind::kLogits
                                 : OutputKind::kProbabilities;
  switch (spec.kind_case()) {
    case v1::Loss::kSparseCategoricalCrossentropy:
      return MakeSparseCategoricalCrossentropy(outputs, output_shape);
    case v1::Loss::kCategoricalCrossentropy:
      return MakeCategoricalCrossentropy(outputs, output_shape);
    case v1::Loss::kBinaryCrossentropy:
      return MakeBinaryCrossentropy(outputs, output_shape);
    case v1::Loss::kMeanSquaredError:
      return MakeMeanSquaredError(output_shape);
    case v1::Loss::kMeanAbsoluteError:
      return MakeMeanAbsoluteError(output_shape);
    case v1::Loss::kHuber:
      return MakeHuber(spec.huber().has_delta() ? spec.huber().delta() : 1.0f, output_shape);
    case v1::Loss::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "compile.loss is empty: choose one, for example sparse_categorical_crossentropy { from_logits: true }");
}

absl::Status CheckActivationFitsLoss(v1::Activation last_activation, const v1::Loss& loss) {
  if (last_activation != v1::SOFTMAX && last_activation != v1::SIGMOID) return absl::OkStatus();
  const v1::Loss::Crossentropy* crossentropy = FindCrossentropy(loss);
  if (crossentropy == nullptr || !crossentropy->from_logits()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the last layer ends in ", last_activation == v1::SOFTMAX ? "SOFTMAX" : "SIGMOID",
      ", but the loss has from_logits: true and would apply it a second time: make the last layer LINEAR "
      "(better) or write from_logits: false"));
}

}  // namespace lockstep

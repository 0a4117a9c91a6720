#include "model/labels.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

// A row of one value may be written [] or [1].
absl::Span<const int64_t> Canonical(absl::Span<const int64_t> shape) {
  return shape.size() == 1 && shape[0] == 1 ? absl::Span<const int64_t>() : shape;
}

std::string BatchShape(absl::Span<const int64_t> row_shape) {
  return absl::StrCat("[rows", row_shape.empty() ? "" : ", ", absl::StrJoin(row_shape, ", "), "]");
}

}  // namespace

absl::Status CheckLabels(const LabelRequirement& required, LabelEncoding encoding,
                         absl::Span<const int64_t> shape) {
  if (required.classes && encoding == LabelEncoding::kValues) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss compares with one class number in [0,", required.num_classes,
                     ") per row, but the labels are values of shape ", BatchShape(shape),
                     ": use categorical_crossentropy for one probability per class"));
  }
  if (!required.classes && encoding == LabelEncoding::kClasses) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss compares with label values of shape ", BatchShape(required.shape),
                     ", but the labels are class numbers of shape ", BatchShape(shape),
                     ": use sparse_categorical_crossentropy for class numbers"));
  }
  const absl::Span<const int64_t> expected =
      required.classes ? absl::Span<const int64_t>() : absl::MakeConstSpan(required.shape);
  if (Canonical(shape) == Canonical(expected)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("labels have shape ", BatchShape(shape),
                                                 ", but the loss needs shape ", BatchShape(expected),
                                                 ": labels are never broadcast"));
}

absl::Status CheckClasses(const LabelRequirement& required, absl::Span<const int32_t> classes) {
  for (size_t row = 0; row < classes.size(); ++row) {
    if (classes[row] < 0 || classes[row] >= required.num_classes) {
      return absl::InvalidArgumentError(absl::StrCat("label ", classes[row], " of row ", row,
                                                     " is outside [0,", required.num_classes, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep

#include "data/array_dataset.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/shape_text.h"
#include "base/status_macros.h"
#include "data/array_bytes.h"
#include "data/element_type.h"

namespace lockstep {
namespace {

class ArrayRowNames : public RowNames {
 public:
  ArrayRowNames(std::string features, std::string labels)
      : features_(std::move(features)), labels_(std::move(labels)) {}

  std::string Row(int64_t row) const override {
    if (features_ == labels_) return InArray(features_, row);
    return absl::StrCat(features_, " and ", labels_, " row ", row);
  }
  std::string Feature(int64_t row, int64_t element) const override {
    return absl::StrCat(InArray(features_, row), " element ", element);
  }
  std::string Label(int64_t row) const override { return absl::StrCat(InArray(labels_, row), " label"); }

 private:
  static std::string InArray(const std::string& array, int64_t row) {
    return absl::StrCat(array, " row ", row);
  }

  const std::string features_;
  const std::string labels_;
};

const std::byte* RowBytes(const TypedArray& array, int64_t row, int64_t elements) {
  return array.data() + row * elements * ElementBytes(array.format.type);
}

// The value as the file has it, for messages.
std::string ValueText(const TypedArray& array, const std::byte* row, int64_t element) {
  double value = 0;
  ConvertElements(row + element * ElementBytes(array.format.type), array.format, 1, &value);
  return absl::StrFormat("%.15g", value);
}

absl::Status CheckStorage(const TypedArray& array) {
  ASSIGN_OR_RETURN(const int64_t bytes, CheckedArrayBytes(array.shape, ElementBytes(array.format.type)));
  if (array.offset >= 0 && bytes <= static_cast<int64_t>(array.storage->size()) - array.offset) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(array.name, " holds ", array.storage->size(),
                                                 " bytes, but its shape ", ShapeToString(array.shape),
                                                 " needs ", bytes, " from byte ", array.offset));
}

absl::StatusOr<DatasetInfo> CheckShapes(const ArrayDataset::Source& source) {
  const TypedArray& features = source.features;
  const TypedArray& labels = source.labels;
  if (features.shape.empty() || labels.shape.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(features.shape.empty() ? features.name : labels.name,
                                                   " is a single number, without rows"));
  }
  if (features.shape[0] != labels.shape[0]) {
    return absl::InvalidArgumentError(absl::StrCat(features.name, " has ", features.shape[0], " rows but ",
                                                   labels.name, " has ", labels.shape[0]));
  }
  DatasetInfo info;
  info.rows = features.shape[0];
  info.feature_shape.assign(features.shape.begin() + 1, features.shape.end());
  if (info.feature_shape.empty()) info.feature_shape = {1};
  info.label_kind = source.label_kind;
  info.label_shape.assign(labels.shape.begin() + 1, labels.shape.end());
  if (info.label_shape == std::vector<int64_t>{1}) info.label_shape.clear();
  if (info.label_kind == LabelKind::kClass && !info.label_shape.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        labels.name, " has shape ", ShapeToString(labels.shape),
        ", but class labels are one number per row; for one-hot labels use categorical_crossentropy"));
  }
  if (info.rows == 0 || info.feature_elements() == 0 || info.label_elements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(features.name, " of shape ", ShapeToString(features.shape),
                                                   " and ", labels.name, " of shape ",
                                                   ShapeToString(labels.shape), " hold no data"));
  }
  return info;
}

template <typename T>
TypedArray InMemory(std::string name, ElementType type, std::vector<int64_t> shape, std::vector<T> values) {
  TypedArray array;
  array.name = std::move(name);
  array.format.type = type;
  array.shape = std::move(shape);
  array.storage = HoldVector(std::move(values));
  return array;
}

// [rows, row_shape], with the number of rows that `size` elements give.
absl::StatusOr<std::vector<int64_t>> ArrayShape(const char* name, size_t size,
                                                std::vector<int64_t> row_shape) {
  const auto row_elements = CheckedArrayBytes(row_shape, 1);
  if (!row_elements.ok() || *row_elements == 0 || size % *row_elements != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(size, " ", name, " are not whole rows of shape ", ShapeToString(row_shape)));
  }
  row_shape.insert(row_shape.begin(), static_cast<int64_t>(size) / *row_elements);
  return row_shape;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ArrayDataset>> ArrayDataset::Create(std::vector<float> features,
                                                                         std::vector<int64_t> feature_shape,
                                                                         std::vector<int32_t> classes) {
  ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                   ArrayShape("features", features.size(), std::move(feature_shape)));
  const int64_t rows = static_cast<int64_t>(classes.size());
  Source source;
  source.features = InMemory("features", ElementType::kF4, std::move(shape), std::move(features));
  source.labels = InMemory("classes", ElementType::kI4, {rows}, std::move(classes));
  return CreateFromSource(std::move(source));
}

absl::StatusOr<std::shared_ptr<const ArrayDataset>> ArrayDataset::CreateWithValues(
    std::vector<float> features, std::vector<int64_t> feature_shape, std::vector<float> values,
    std::vector<int64_t> label_shape) {
  ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                   ArrayShape("features", features.size(), std::move(feature_shape)));
  ASSIGN_OR_RETURN(std::vector<int64_t> values_shape,
                   ArrayShape("values", values.size(), std::move(label_shape)));
  Source source;
  source.features = InMemory("features", ElementType::kF4, std::move(shape), std::move(features));
  source.labels = InMemory("values", ElementType::kF4, std::move(values_shape), std::move(values));
  source.label_kind = LabelKind::kFloat;
  return CreateFromSource(std::move(source));
}

absl::StatusOr<std::shared_ptr<const ArrayDataset>> ArrayDataset::CreateFromSource(Source source) {
  RETURN_IF_ERROR(CheckStorage(source.features));
  RETURN_IF_ERROR(CheckStorage(source.labels));
  ASSIGN_OR_RETURN(DatasetInfo info, CheckShapes(source));
  if (source.names == nullptr) {
    source.names = std::make_shared<const ArrayRowNames>(source.features.name, source.labels.name);
  }
  return std::shared_ptr<const ArrayDataset>(new ArrayDataset(std::move(source), std::move(info)));
}

ArrayDataset::ArrayDataset(Source source, DatasetInfo info)
    : source_(std::move(source)),
      info_(std::move(info)),
      feature_elements_(info_.feature_elements()),
      label_elements_(info_.label_elements()) {}

absl::Status ArrayDataset::Read(absl::Span<const int64_t> rows, float* features,
                                const LabelBuffer& labels) const {
  RETURN_IF_ERROR(CheckRowNumbers(rows, info_));
  RETURN_IF_ERROR(source_.features.storage->CheckIntact());
  RETURN_IF_ERROR(source_.labels.storage->CheckIntact());
  for (size_t i = 0; i < rows.size(); ++i) {
    RETURN_IF_ERROR(ReadFeatures(rows[i], features + i * feature_elements_));
    if (info_.label_kind == LabelKind::kClass) {
      RETURN_IF_ERROR(ReadClass(rows[i], labels.classes + i));
    } else {
      RETURN_IF_ERROR(ReadValues(rows[i], labels.values + i * label_elements_));
    }
  }
  return absl::OkStatus();
}

absl::Status ArrayDataset::ReadFeatures(int64_t row, float* to) const {
  const std::byte* from = RowBytes(source_.features, row, feature_elements_);
  ConvertElements(from, source_.features.format, feature_elements_, to);
  if (source_.scale != 1) ScaleElements(source_.scale, feature_elements_, to);
  if (AllFinite(to, feature_elements_)) return absl::OkStatus();
  int64_t bad = 0;
  while (std::isfinite(to[bad])) ++bad;
  return absl::InvalidArgumentError(absl::StrCat(source_.names->Feature(row, bad), " is ",
                                                 ValueText(source_.features, from, bad),
                                                 ", which is not a finite float"));
}

absl::Status ArrayDataset::ReadClass(int64_t row, int32_t* to) const {
  const std::byte* from = RowBytes(source_.labels, row, 1);
  double value = 0;
  ConvertElements(from, source_.labels.format, 1, &value);
  const bool whole = std::trunc(value) == value;
  if (whole && value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
    *to = static_cast<int32_t>(value);
    return absl::OkStatus();
  }
  const char* problem = whole && std::isfinite(value) ? ", which is out of range for a class (int32)"
                                                      : ", which is not a whole class number";
  return absl::InvalidArgumentError(
      absl::StrCat(source_.names->Label(row), " is ", ValueText(source_.labels, from, 0), problem));
}

absl::Status ArrayDataset::ReadValues(int64_t row, float* to) const {
  const std::byte* from = RowBytes(source_.labels, row, label_elements_);
  ConvertElements(from, source_.labels.format, label_elements_, to);
  if (AllFinite(to, label_elements_)) return absl::OkStatus();
  int64_t bad = 0;
  while (std::isfinite(to[bad])) ++bad;
  return absl::InvalidArgumentError(absl::StrCat(source_.names->Label(row), " is ",
                                                 ValueText(source_.labels, from, bad),
                                                 ", which is not a finite float"));
}

}  // namespace lockstep

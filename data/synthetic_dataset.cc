#include "data/synthetic_dataset.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/shape_text.h"
#include "base/status_macros.h"
#include "data/array_bytes.h"

namespace lockstep {
namespace {

// A counter that no block of features has.
constexpr uint64_t kLabelCounter = ~uint64_t{0};

}  // namespace

absl::StatusOr<std::shared_ptr<const SyntheticDataset>> SyntheticDataset::Create(const Options& options) {
  if (options.rows < 1) {
    return absl::InvalidArgumentError(absl::StrCat("synthetic.rows ", options.rows, " must be at least 1"));
  }
  if (options.classes < 2 || options.classes > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("synthetic.classes ", options.classes, " outside [2, ",
                                                   std::numeric_limits<int32_t>::max(), "]"));
  }
  const auto row_bytes = CheckedArrayBytes(options.feature_shape, sizeof(float));
  if (options.feature_shape.empty() || !row_bytes.ok() || *row_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("synthetic.feature_shape ",
                                                   ShapeToString(options.feature_shape),
                                                   " must have dimensions, each at least 1"));
  }
  return std::shared_ptr<const SyntheticDataset>(new SyntheticDataset(options));
}

SyntheticDataset::SyntheticDataset(const Options& options) : options_(options) {
  info_.rows = options.rows;
  info_.feature_shape = options.feature_shape;
  info_.label_kind = options.label_kind;
}

absl::Status SyntheticDataset::Read(absl::Span<const int64_t> rows, float* features,
                                    const LabelBuffer& labels) const {
  RETURN_IF_ERROR(CheckRowNumbers(rows, info_));
  const int64_t elements = info_.feature_elements();
  for (size_t i = 0; i < rows.size(); ++i) {
    Features(rows[i], features + i * elements);
    if (info_.label_kind == LabelKind::kClass) {
      labels.classes[i] = Label(rows[i]);
    } else {
      labels.values[i] = static_cast<float>(Label(rows[i]));
    }
  }
  return absl::OkStatus();
}

std::string SyntheticDataset::Locate(int64_t row) const { return absl::StrCat("synthetic row ", row); }

int32_t SyntheticDataset::Label(int64_t row) const {
  const RandomBlock block = Philox(options_.seed, RandomPurpose::kSynthetic, row, kLabelCounter);
  return static_cast<int32_t>(UnitDouble(block[0], block[1]) * static_cast<double>(options_.classes));
}

void SyntheticDataset::Features(int64_t row, float* to) const {
  const int64_t elements = info_.feature_elements();
  constexpr int64_t kWords = std::tuple_size<RandomBlock>::value;
  for (int64_t begin = 0; begin < elements; begin += kWords) {
    const RandomBlock block = Philox(options_.seed, RandomPurpose::kSynthetic, row, begin / kWords);
    const int64_t words = std::min(kWords, elements - begin);
    for (int64_t i = 0; i < words; ++i) to[begin + i] = UnitFloat(block[i]);
  }
}

}  // namespace lockstep

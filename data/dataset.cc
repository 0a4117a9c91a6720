#include "data/dataset.h"

#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

int64_t Elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

int64_t DatasetInfo::feature_elements() const { return Elements(feature_shape); }
int64_t DatasetInfo::label_elements() const { return Elements(label_shape); }

absl::Status CheckRowNumbers(absl::Span<const int64_t> rows, const DatasetInfo& info) {
  for (const int64_t row : rows) {
    if (row < 0 || row >= info.rows) {
      return absl::OutOfRangeError(absl::StrCat("row ", row, " outside [0, ", info.rows, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep

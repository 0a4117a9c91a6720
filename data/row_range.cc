#include "data/row_range.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {

absl::StatusOr<std::shared_ptr<const RowRange>> RowRange::Create(std::shared_ptr<const Dataset> dataset,
                                                                 int64_t begin, int64_t end) {
  const int64_t rows = dataset->info().rows;
  if (begin < 0 || begin >= end || end > rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows [", begin, ", ", end, ") are not part of a dataset of ", rows, " rows"));
  }
  return std::shared_ptr<const RowRange>(new RowRange(std::move(dataset), begin, end));
}

RowRange::RowRange(std::shared_ptr<const Dataset> dataset, int64_t begin, int64_t end)
    : dataset_(std::move(dataset)), begin_(begin), info_(dataset_->info()) {
  info_.rows = end - begin;
}

absl::Status RowRange::Read(absl::Span<const int64_t> rows, float* features,
                            const LabelBuffer& labels) const {
  RETURN_IF_ERROR(CheckRowNumbers(rows, info_));
  std::vector<int64_t> moved(rows.begin(), rows.end());
  for (int64_t& row : moved) row += begin_;
  return dataset_->Read(moved, features, labels);
}

absl::StatusOr<TrainValidation> HoldOutLast(std::shared_ptr<const Dataset> dataset, double fraction) {
  const int64_t rows = dataset->info().rows;
  if (!(fraction > 0 && fraction < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("data.validation_split ", fraction, " outside (0, 1)"));
  }
  const int64_t train_rows = static_cast<int64_t>(static_cast<double>(rows) * (1 - fraction));
  if (train_rows == 0 || train_rows == rows) {
    return absl::InvalidArgumentError(absl::StrCat("data.validation_split ", fraction, " of ", rows,
                                                   " rows leaves ", train_rows, " for training and ",
                                                   rows - train_rows, " for validation"));
  }
  TrainValidation split;
  ASSIGN_OR_RETURN(split.train, RowRange::Create(dataset, 0, train_rows));
  ASSIGN_OR_RETURN(split.validation, RowRange::Create(dataset, train_rows, rows));
  return split;
}

}  // namespace lockstep

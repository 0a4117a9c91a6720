// A contiguous part of another dataset, without copying it.
#ifndef LOCKSTEP_DATA_ROW_RANGE_H_
#define LOCKSTEP_DATA_ROW_RANGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "data/dataset.h"

namespace lockstep {

// Row 0 is row `begin` of the other dataset; Locate tells where that row lies in the file.
class RowRange : public Dataset {
 public:
  // Rows [begin, end). Errors: INVALID_ARGUMENT if they are not in the dataset, or none.
  static absl::StatusOr<std::shared_ptr<const RowRange>> Create(std::shared_ptr<const Dataset> dataset,
                                                                int64_t begin, int64_t end);

  const DatasetInfo& info() const override { return info_; }
  absl::Status Read(absl::Span<const int64_t> rows, float* features,
                    const LabelBuffer& labels) const override;
  std::string Locate(int64_t row) const override { return dataset_->Locate(begin_ + row); }

 private:
  RowRange(std::shared_ptr<const Dataset> dataset, int64_t begin, int64_t end);

  const std::shared_ptr<const Dataset> dataset_;
  const int64_t begin_;
  DatasetInfo info_;
};

struct TrainValidation {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;
};

// Holds out the last `fraction` of the rows, as Keras does for validation_split: training keeps
// floor(rows * (1 - fraction)). Errors: INVALID_ARGUMENT if the fraction is not in (0, 1) or leaves one of
// the two without rows.
absl::StatusOr<TrainValidation> HoldOutLast(std::shared_ptr<const Dataset> dataset, double fraction);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_ROW_RANGE_H_

// A dataset of two arrays, features and labels, with one row each per row.
//
// Array files of all kinds end up here, and so do arrays of a C++ program.
#ifndef LOCKSTEP_DATA_ARRAY_DATASET_H_
#define LOCKSTEP_DATA_ARRAY_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "data/dataset.h"
#include "data/row_names.h"
#include "data/typed_array.h"

namespace lockstep {

class ArrayDataset : public Dataset {
 public:
  // Values in memory: `features` is [rows, feature_shape], row-major, `classes` [rows].
  // Errors: INVALID_ARGUMENT if the sizes do not belong together.
  static absl::StatusOr<std::shared_ptr<const ArrayDataset>> Create(std::vector<float> features,
                                                                    std::vector<int64_t> feature_shape,
                                                                    std::vector<int32_t> classes);
  // The same with float labels: `values` is [rows, label_shape].
  static absl::StatusOr<std::shared_ptr<const ArrayDataset>> CreateWithValues(
      std::vector<float> features, std::vector<int64_t> feature_shape, std::vector<float> values,
      std::vector<int64_t> label_shape = {});

  struct Source {
    TypedArray features;  // [rows, ...]; [rows] is taken as [rows, 1]
    TypedArray labels;    // [rows] or [rows, 1]: one value per row; [rows, ...]: float labels only
    LabelKind label_kind = LabelKind::kClass;
    float scale = 1;                        // of the features
    std::shared_ptr<const RowNames> names;  // null: the arrays' names and the row number
  };
  static absl::StatusOr<std::shared_ptr<const ArrayDataset>> CreateFromSource(Source source);

  const DatasetInfo& info() const override { return info_; }
  absl::Status Read(absl::Span<const int64_t> rows, float* features,
                    const LabelBuffer& labels) const override;
  std::string Locate(int64_t row) const override { return source_.names->Row(row); }

 private:
  ArrayDataset(Source source, DatasetInfo info);

  absl::Status ReadFeatures(int64_t row, float* to) const;
  absl::Status ReadClass(int64_t row, int32_t* to) const;
  absl::Status ReadValues(int64_t row, float* to) const;

  const Source source_;
  const DatasetInfo info_;
  const int64_t feature_elements_;
  const int64_t label_elements_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_ARRAY_DATASET_H_

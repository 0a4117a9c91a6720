// The rows that a model is trained on: each has features (floats) and a label.
//
// First link of the input pipeline: Dataset -> Sampler (which rows, in which order) -> BatchLoader.
#ifndef LOCKSTEP_DATA_DATASET_H_
#define LOCKSTEP_DATA_DATASET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace lockstep {

// kClass: one whole class number per row. kFloat: numbers, as for regression.
enum class LabelKind { kClass, kFloat };

// Shapes are those of one row, without the batch.
struct DatasetInfo {
  int64_t rows = 0;
  std::vector<int64_t> feature_shape;  // never empty: a plain number per row is [1]
  LabelKind label_kind = LabelKind::kClass;
  std::vector<int64_t> label_shape;  // empty: one value per row; always so for kClass

  int64_t feature_elements() const;
  int64_t label_elements() const;
};

// Where labels are written: [rows, label elements]. Only the member of the dataset's kind is used.
struct LabelBuffer {
  int32_t* classes = nullptr;
  float* values = nullptr;
};

// Immutable once opened. Thread-safe.
//
// What can be known from sizes and syntax is checked when a dataset is opened; the values of a row are
// checked when it is read, so that the rank that owns a bad row is the one that reports it.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const DatasetInfo& info() const = 0;

  // Copies `rows` (row numbers, in this order, repeats allowed) into `features` [rows, feature elements]
  // and `labels`. May block on the file system. After an error the buffers hold unspecified values.
  //
  // Errors name the file and the place in it. INVALID_ARGUMENT: a feature or float label that is NaN or
  // infinite, a class label that is not a whole number or does not fit int32. OUT_OF_RANGE: no such row.
  // DATA_LOSS: the file changed since it was opened.
  virtual absl::Status Read(absl::Span<const int64_t> rows, float* features,
                            const LabelBuffer& labels) const = 0;

  // The origin of a row for messages, such as: file t.csv line 9 (row 7).
  virtual std::string Locate(int64_t row) const = 0;
};

// OUT_OF_RANGE if one of `rows` is not in [0, info.rows).
absl::Status CheckRowNumbers(absl::Span<const int64_t> rows, const DatasetInfo& info);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_DATASET_H_

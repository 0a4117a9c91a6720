// A dataset of CSV files with a header line, parsed into memory when it is opened.
#ifndef LOCKSTEP_DATA_CSV_DATASET_H_
#define LOCKSTEP_DATA_CSV_DATASET_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "data/bytes.h"
#include "data/dataset.h"

namespace lockstep {

struct CsvOptions {
  std::vector<std::string> features;  // column names; empty: all columns but the label
  std::string label;                  // column name
  LabelKind label_kind = LabelKind::kClass;
  std::optional<float> missing_value;  // what a missing feature is replaced by; absent: an error
  char delimiter = ',';
  float scale = 1;
};

struct CsvFile {
  std::shared_ptr<const Bytes> bytes;
  std::string name;  // for messages
};

// The rows of `files` one after the other; all must have the same header. A cell is missing if it is empty,
// NA or N/A; a missing label is always an error.
//
// Errors: INVALID_ARGUMENT, with file, line and column, for unknown or ambiguous columns, records that do
// not have as many fields as the header, and cells that are missing or not numbers. "nan" and "inf" are
// numbers; Dataset::Read refuses them.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenCsv(absl::Span<const CsvFile> files,
                                                       const CsvOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_CSV_DATASET_H_

// From a job's description of a dataset to the dataset.
#ifndef LOCKSTEP_DATA_OPEN_DATASET_H_
#define LOCKSTEP_DATA_OPEN_DATASET_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace lockstep {

namespace v1 {
class Dataset;
}  // namespace v1

struct OpenOptions {
  std::string data_root;  // that all paths must stay below; empty: the working directory
  // What the loss needs. Numbers of array files and of synthetic data are given as this kind; CSV labels
  // too, unless the job says otherwise by label_type.
  LabelKind wanted_labels = LabelKind::kClass;
};

// Errors: INVALID_ARGUMENT for missing or contradictory fields, paths outside the root, and files with wrong
// sizes or syntax; NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE as the file system says; DATA_LOSS for
// checksums. Messages name the field or the file.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const v1::Dataset& spec,
                                                           const OpenOptions& options);

// Whether all paths of `spec` lie below the root, as OpenDataset wants it of each when it opens it; the files
// need not be there. INVALID_ARGUMENT naming field and path; NOT_FOUND if the root is missing.
absl::Status CheckDatasetPaths(const v1::Dataset& spec, const std::string& data_root);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_OPEN_DATASET_H_

// Random rows for trying things out: features uniform in [0, 1), labels uniform class numbers.
#ifndef LOCKSTEP_DATA_SYNTHETIC_DATASET_H_
#define LOCKSTEP_DATA_SYNTHETIC_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "data/dataset.h"

namespace lockstep {

// Each number is a pure function of (seed, row, element), so that all ranks see the same rows, and none is
// stored.
class SyntheticDataset : public Dataset {
 public:
  struct Options {
    int64_t rows = 0;
    std::vector<int64_t> feature_shape;
    int64_t classes = 0;  // at least 2
    uint64_t seed = 0;
    LabelKind label_kind = LabelKind::kClass;  // kFloat: the class number as a float
  };
  // Errors: INVALID_ARGUMENT for counts that make no sense.
  static absl::StatusOr<std::shared_ptr<const SyntheticDataset>> Create(const Options& options);

  const DatasetInfo& info() const override { return info_; }
  absl::Status Read(absl::Span<const int64_t> rows, float* features,
                    const LabelBuffer& labels) const override;
  std::string Locate(int64_t row) const override;

 private:
  explicit SyntheticDataset(const Options& options);

  int32_t Label(int64_t row) const;
  void Features(int64_t row, float* to) const;

  const Options options_;
  DatasetInfo info_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_SYNTHETIC_DATASET_H_

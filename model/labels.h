// What the loss and the metrics compare outputs with, and whether a dataset's labels fit.
#ifndef LOCKSTEP_MODEL_LABELS_H_
#define LOCKSTEP_MODEL_LABELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace lockstep {

// The labels of some rows; not owned. One of the two is set.
struct Labels {
  const int32_t* classes = nullptr;  // one class number per row
  const float* values = nullptr;     // [rows, shape of one output row]
};

enum class LabelEncoding { kClasses, kValues };

// What a loss asks of labels.
struct LabelRequirement {
  bool classes = false;        // class numbers rather than values
  int64_t num_classes = 0;     // class numbers: each must be in [0, num_classes)
  std::vector<int64_t> shape;  // of one row's values; [] and [1] are the same
};

// Whether labels of `encoding` whose rows have `shape` fit `required`. Shapes are equal or refused: nothing
// is broadcast, since values of shape [rows] against outputs [rows, n] would give a plausible wrong loss.
// Errors: INVALID_ARGUMENT with both encodings or shapes.
absl::Status CheckLabels(const LabelRequirement& required, LabelEncoding encoding,
                         absl::Span<const int64_t> shape);

// Errors: INVALID_ARGUMENT names the first class number outside [0, num_classes) and its row.
absl::Status CheckClasses(const LabelRequirement& required, absl::Span<const int32_t> classes);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_LABELS_H_

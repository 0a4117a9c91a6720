// Cross-entropy between labels and distributions over the last axis of the output.
//
// From probabilities, as Keras does it in float32: normalise to sum 1, clip to [1e-7, 1 - 1e-7], take the
// logarithm; a clipped probability has no gradient. From logits, through log-sum-exp around the largest
// logit, so that no finite logit overflows and the gradient softmax(x) - label is exact.
#ifndef LOCKSTEP_MODEL_CROSSENTROPY_LOSS_H_
#define LOCKSTEP_MODEL_CROSSENTROPY_LOSS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "model/loss.h"

namespace lockstep {

enum class OutputKind { kLogits, kProbabilities };

// One class number per row; output shape [C], C >= 2.
absl::StatusOr<std::unique_ptr<Loss>> MakeSparseCategoricalCrossentropy(
    OutputKind outputs, const std::vector<int64_t>& output_shape);

// One probability per class; output shape [..., C], C >= 2. Labels need not sum to 1.
absl::StatusOr<std::unique_ptr<Loss>> MakeCategoricalCrossentropy(OutputKind outputs,
                                                                  const std::vector<int64_t>& output_shape);

// Each output element is the probability (or logit) of its own yes-no question.
absl::StatusOr<std::unique_ptr<Loss>> MakeBinaryCrossentropy(OutputKind outputs,
                                                             const std::vector<int64_t>& output_shape);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_CROSSENTROPY_LOSS_H_

// Losses of the difference e = output - label, element by element; a row's loss is the mean over its
// elements.
#ifndef LOCKSTEP_MODEL_ELEMENTWISE_LOSS_H_
#define LOCKSTEP_MODEL_ELEMENTWISE_LOSS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "model/loss.h"

namespace lockstep {

// e^2
std::unique_ptr<Loss> MakeMeanSquaredError(const std::vector<int64_t>& output_shape);

// |e|, with gradient 0 at e = 0.
std::unique_ptr<Loss> MakeMeanAbsoluteError(const std::vector<int64_t>& output_shape);

// e^2 / 2 up to |e| = delta, then delta * |e| - delta^2 / 2 (Huber 1964).
// Errors: INVALID_ARGUMENT unless delta is positive and finite.
absl::StatusOr<std::unique_ptr<Loss>> MakeHuber(float delta, const std::vector<int64_t>& output_shape);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_ELEMENTWISE_LOSS_H_

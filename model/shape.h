// The sizes of a tensor's axes, outermost first. Tensors are dense and row-major.
#ifndef LOCKSTEP_MODEL_SHAPE_H_
#define LOCKSTEP_MODEL_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/shape_text.h"

namespace lockstep {

using Shape = std::vector<int64_t>;

// More elements than this in one tensor (16 GiB of float32) are taken for a mistake in the model. It also
// keeps products of sizes far from overflow.
inline constexpr int64_t kMaxTensorElements = int64_t{1} << 32;

// The product of the sizes; 1 for a scalar. The shape must have passed CheckShape.
int64_t NumElements(const Shape& shape);

// The number of elements.
// Errors: INVALID_ARGUMENT a size is below 1 or there are more than kMaxTensorElements elements.
absl::StatusOr<int64_t> CheckShape(const Shape& shape);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_SHAPE_H_

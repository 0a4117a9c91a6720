#include "model/shape.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {

int64_t NumElements(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

absl::StatusOr<int64_t> CheckShape(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeToString(shape), " has a size of ", size, ", must be at least 1"));
    }
    if (size > kMaxTensorElements / elements) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", ShapeToString(shape), " has more than ",
                                                     kMaxTensorElements,
                                                     " elements, the most a tensor may have"));
    }
    elements *= size;
  }
  return elements;
}

}  // namespace lockstep

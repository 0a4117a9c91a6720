#include "data/array_bytes.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/shape_text.h"

namespace lockstep {

absl::StatusOr<int64_t> CheckedArrayBytes(absl::Span<const int64_t> shape, int64_t element_bytes) {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t bytes = element_bytes;
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(bytes, dimension, &bytes) || bytes > kMost) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", ShapeToString(shape), " makes no sense"));
    }
  }
  return bytes;
}

}  // namespace lockstep

// The size of arrays whose shapes come from files and jobs, where dimensions may be wrong on purpose.
#ifndef LOCKSTEP_DATA_ARRAY_BYTES_H_
#define LOCKSTEP_DATA_ARRAY_BYTES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lockstep {

// Bytes of an array of `shape`. Errors: INVALID_ARGUMENT if a dimension is negative or the product does not
// fit 62 bits.
absl::StatusOr<int64_t> CheckedArrayBytes(absl::Span<const int64_t> shape, int64_t element_bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_ARRAY_BYTES_H_

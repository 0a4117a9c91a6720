// The header of NumPy's array format (NEP 1): magic, version, length, and a Python dictionary literal with
// the element type, the order of the axes and the shape.
#ifndef LOCKSTEP_DATA_NPY_HEADER_H_
#define LOCKSTEP_DATA_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "data/element_type.h"

namespace lockstep {

// Longer ones are refused. NumPy itself reads at most 10,000 bytes.
constexpr int64_t kMostNpyHeaderBytes = 64 << 10;

struct NpyHeader {
  ElementFormat format;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  int64_t data_offset = 0;  // where the elements begin
  int64_t data_bytes = 0;   // that the shape needs
};

// Versions 1, 2 and 3. `start` is the array's beginning and holds at least the header, or all that there is;
// `name` is what messages call it.
// Errors: INVALID_ARGUMENT for what is not an NPY header, is cut off, or has a type that is not supported.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::byte> start, const std::string& name);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_NPY_HEADER_H_

// The number types of array files, and the loops over the elements of a row: the one place where numbers are
// converted.
#ifndef LOCKSTEP_DATA_ELEMENT_TYPE_H_
#define LOCKSTEP_DATA_ELEMENT_TYPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace lockstep {

// Names as in NumPy: a letter for float, int, unsigned or boolean, and the number of bytes.
enum class ElementType { kF2, kF4, kF8, kI1, kI2, kI4, kI8, kU1, kU2, kU4, kU8, kB1 };

enum class ByteOrder { kLittle, kBig };

struct ElementFormat {
  ElementType type = ElementType::kF4;
  ByteOrder order = ByteOrder::kLittle;
};

int64_t ElementBytes(ElementType type);
absl::string_view ElementTypeName(ElementType type);

// Writes `n` elements at `from` (no alignment needed) to `to`, rounded to nearest. What float cannot hold
// becomes infinite. Booleans become 0 or 1.
void ConvertElements(const std::byte* from, ElementFormat format, int64_t n, float* to);
// Exact but for 8-byte integers beyond 2^53.
void ConvertElements(const std::byte* from, ElementFormat format, int64_t n, double* to);

// Multiplies `n` values in place.
void ScaleElements(float scale, int64_t n, float* values);

// Whether none of `n` values is NaN or infinite.
bool AllFinite(const float* values, int64_t n);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_ELEMENT_TYPE_H_

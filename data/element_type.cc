#include "data/element_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "values are taken as they lie in little-endian files");

namespace lockstep {
namespace {

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
struct Half {
  uint16_t bits;

  explicit operator float() const {
    const int exponent = (bits >> 10) & 0x1F;
    const int mantissa = bits & 0x3FF;
    float magnitude;
    if (exponent == 0) {
      magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    } else if (exponent == 0x1F) {
      magnitude =
          mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else {
      magnitude = std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }
  explicit operator double() const { return static_cast<float>(*this); }
};

struct Boolean {
  uint8_t byte;
  explicit operator float() const { return byte != 0; }
  explicit operator double() const { return byte != 0; }
};

template <typename T>
T LoadLittle(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
T LoadBig(const std::byte* from) {
  std::byte reversed[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); ++i) reversed[i] = from[sizeof(T) - 1 - i];
  return LoadLittle<T>(reversed);
}

template <typename T, typename To>
void ConvertAll(const std::byte* from, ByteOrder order, int64_t n, To* to) {
  if (order == ByteOrder::kLittle) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(LoadLittle<T>(from + i * sizeof(T)));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(LoadBig<T>(from + i * sizeof(T)));
  }
}

template <typename To>
void Convert(const std::byte* from, ElementFormat format, int64_t n, To* to) {
  switch (format.type) {
    case ElementType::kF2:
      return ConvertAll<Half>(from, format.order, n, to);
    case ElementType::kF4:
      return ConvertAll<float>(from, format.order, n, to);
    case ElementType::kF8:
      return ConvertAll<double>(from, format.order, n, to);
    case ElementType::kI1:
      return ConvertAll<int8_t>(from, format.order, n, to);
    case ElementType::kI2:
      return ConvertAll<int16_t>(from, format.order, n, to);
    case ElementType::kI4:
      return ConvertAll<int32_t>(from, format.order, n, to);
    case ElementType::kI8:
      return ConvertAll<int64_t>(from, format.order, n, to);
    case ElementType::kU1:
      return ConvertAll<uint8_t>(from, format.order, n, to);
    case ElementType::kU2:
      return ConvertAll<uint16_t>(from, format.order, n, to);
    case ElementType::kU4:
      return ConvertAll<uint32_t>(from, format.order, n, to);
    case ElementType::kU8:
      return ConvertAll<uint64_t>(from, format.order, n, to);
    case ElementType::kB1:
      return ConvertAll<Boolean>(from, format.order, n, to);
  }
}

}  // namespace

int64_t ElementBytes(ElementType type) { return ElementTypeName(type)[1] - '0'; }

absl::string_view ElementTypeName(ElementType type) {
  static constexpr absl::string_view kNames[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                                 "i8", "u1", "u2", "u4", "u8", "b1"};
  return kNames[static_cast<int>(type)];
}

void ConvertElements(const std::byte* from, ElementFormat format, int64_t n, float* to) {
  Convert(from, format, n, to);
}

void ConvertElements(const std::byte* from, ElementFormat format, int64_t n, double* to) {
  Convert(from, format, n, to);
}

void ScaleElements(float scale, int64_t n, float* values) {
  for (int64_t i = 0; i < n; ++i) values[i] *= scale;
}

bool AllFinite(const float* values, int64_t n) {
  // In integers, so that compilers vectorise: NaN and infinity have all exponent bits set.
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    largest = std::max(largest, bits & kExponent);
  }
  return largest != kExponent;
}

}  // namespace lockstep

#include "collective/half.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Compression kFormats[] = {Compression::kBfloat16, Compression::kFloat16};

float Rounded(Compression compression, float value) {
  RoundInPlace(compression, absl::MakeSpan(&value, 1));
  return value;
}

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The definition, in double precision: the nearest multiple of the format's step at this size, ties to even.
float ReferenceOf(Compression compression, float value) {
  const int precision = compression == Compression::kBfloat16 ? 8 : 11;
  const int least_exponent = compression == Compression::kBfloat16 ? -126 : -14;
  const float most = compression == Compression::kBfloat16 ? FloatOf(0x7f7f0000) : 65504.0f;
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const double step = std::ldexp(1.0, exponent - precision + 1);
  const double rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) > most ? std::copysign(kInfinity, value) : static_cast<float>(rounded);
}

TEST(HalfTest, EveryValueOfTheFormatStaysAndComesBackFromItsBits) {
  for (const Compression format : kFormats) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const std::vector<uint16_t> half = {static_cast<uint16_t>(bits)};
      std::vector<float> value(1);
      Decode(format, half, absl::MakeSpan(value));
      if (std::isnan(value[0])) {
        EXPECT_TRUE(std::isnan(Rounded(format, value[0])));
        continue;
      }
      std::vector<uint16_t> back(1);
      Encode(format, value, absl::MakeSpan(back));
      EXPECT_EQ(back, half);
    }
  }
}

TEST(HalfTest, RoundsToTheNearestAndTiesToEven) {
  for (const Compression format : kFormats) {
    // All exponents, and mantissas around the ties of both formats.
    for (uint32_t high = 0; high < 0x7f80; high += 3) {
      for (uint32_t low :
           {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xf000u, 0xffffu}) {
        const float value = FloatOf(high << 16 | low);
        if (std::fpclassify(value) == FP_SUBNORMAL) continue;  // of float: nothing to lose in a gradient
        ASSERT_EQ(Rounded(format, value), ReferenceOf(format, value)) << value;
        ASSERT_EQ(Rounded(format, -value), -ReferenceOf(format, value)) << value;
      }
    }
  }
}

TEST(HalfTest, WhatIsNotFiniteStaysSo) {
  for (const Compression format : kFormats) {
    EXPECT_EQ(Rounded(format, kInfinity), kInfinity);
    EXPECT_EQ(Rounded(format, -kInfinity), -kInfinity);
    // Also one whose bits are all below those that are left.
    for (uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0xffffffffu})
      EXPECT_TRUE(std::isnan(Rounded(format, FloatOf(bits))));
  }
  EXPECT_EQ(Rounded(Compression::kFloat16, 70000), kInfinity);
  EXPECT_EQ(Rounded(Compression::kBfloat16, std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(Rounded(Compression::kNone, 70001), 70001);
}

TEST(HalfTest, AllLengthsAndPlacesAreTheSame) {
  for (const Compression format : kFormats) {
    for (size_t size : {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 2047, 2048, 2049, 5000}) {
      std::vector<float> values(size + 1), sums(size + 1, 0.25f), expected(size + 1);
      for (size_t i = 0; i <= size; ++i) values[i] = 0.001f * static_cast<float>(i) - 1;
      for (size_t i = 0; i <= size; ++i) expected[i] = ReferenceOf(format, values[i]);
      std::vector<uint16_t> halves(size);
      Encode(format, absl::MakeSpan(values).subspan(1), absl::MakeSpan(halves));
      AddDecoded(format, halves, absl::MakeSpan(sums).subspan(1));
      RoundInPlace(format, absl::MakeSpan(values).subspan(1));
      for (size_t i = 1; i <= size; ++i) {
        ASSERT_EQ(values[i], expected[i]) << i << " of " << size;
        ASSERT_EQ(sums[i], 0.25f + expected[i]) << i << " of " << size;
      }
      EXPECT_EQ(sums[0], 0.25f);
      EXPECT_EQ(values[0], -1);
    }
  }
}

}  // namespace
}  // namespace lockstep

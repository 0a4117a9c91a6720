#include "data/element_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "data/test_support.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// Converts from an odd address, so that assumptions about alignment show under sanitizers.
template <typename To>
std::vector<To> Convert(ElementFormat format, const std::string& raw) {
  const std::string shifted = " " + raw;
  std::vector<To> values(raw.size() / ElementBytes(format.type));
  ConvertElements(reinterpret_cast<const std::byte*>(shifted.data()) + 1, format,
                  static_cast<int64_t>(values.size()), values.data());
  return values;
}

std::string Reversed(std::string raw, size_t element_bytes) {
  for (size_t at = 0; at < raw.size(); at += element_bytes) {
    std::reverse(raw.begin() + at, raw.begin() + at + element_bytes);
  }
  return raw;
}

template <typename T>
void ExpectExact(ElementType type, const std::vector<T>& values) {
  ASSERT_EQ(ElementBytes(type), static_cast<int64_t>(sizeof(T)));
  const std::vector<float> floats(values.begin(), values.end());
  const std::vector<double> doubles(values.begin(), values.end());
  const std::string big = Reversed(Raw(values), sizeof(T));
  EXPECT_EQ(Convert<float>({type, ByteOrder::kLittle}, Raw(values)), floats) << ElementTypeName(type);
  EXPECT_EQ(Convert<float>({type, ByteOrder::kBig}, big), floats) << ElementTypeName(type);
  EXPECT_EQ(Convert<double>({type, ByteOrder::kLittle}, Raw(values)), doubles) << ElementTypeName(type);
  EXPECT_EQ(Convert<double>({type, ByteOrder::kBig}, big), doubles) << ElementTypeName(type);
}

TEST(ElementTypeTest, EveryTypeIsConvertedInBothByteOrders) {
  ExpectExact<float>(ElementType::kF4, {0, 1.5, -3e30f, 1e-40f});
  ExpectExact<double>(ElementType::kF8, {0, 0.1, -1e300 / 1e290, 16777217});
  ExpectExact<int8_t>(ElementType::kI1, {0, -128, 127});
  ExpectExact<int16_t>(ElementType::kI2, {0, -32768, 258});
  ExpectExact<int32_t>(ElementType::kI4, {0, INT32_MIN, 16909060});
  ExpectExact<int64_t>(ElementType::kI8, {0, INT64_MIN, 3'000'000'000});
  ExpectExact<uint8_t>(ElementType::kU1, {0, 255, 1});
  ExpectExact<uint16_t>(ElementType::kU2, {0, 65535, 258});
  ExpectExact<uint32_t>(ElementType::kU4, {0, UINT32_MAX, 1});
  ExpectExact<uint64_t>(ElementType::kU8, {0, UINT64_MAX, 1});
}

TEST(ElementTypeTest, BooleansAreZeroOrOne) {
  EXPECT_THAT(Convert<float>({ElementType::kB1, ByteOrder::kLittle}, std::string("\0\1\2", 3)),
              ElementsAre(0, 1, 1));
}

TEST(ElementTypeTest, HalvesAreExact) {
  const std::vector<uint16_t> bits = {0x0000, 0x3C00, 0xC000, 0x7BFF, 0x0001,
                                      0x03FF, 0x0400, 0x3555, 0x7C00, 0xFC00};
  const float infinity = std::numeric_limits<float>::infinity();
  const auto expected = ElementsAre(0.0f, 1.0f, -2.0f, 65504.0f, 0x1p-24f, 1023 * 0x1p-24f, 0x1p-14f,
                                    1365 * 0x1p-12f, infinity, -infinity);
  EXPECT_THAT(Convert<float>({ElementType::kF2, ByteOrder::kLittle}, Raw(bits)), expected);
  EXPECT_THAT(Convert<float>({ElementType::kF2, ByteOrder::kBig}, Reversed(Raw(bits), 2)), expected);
  EXPECT_TRUE(std::isnan(Convert<float>({ElementType::kF2, ByteOrder::kLittle}, "\x01\x7C")[0]));
}

TEST(ElementTypeTest, OneValueThatIsNotFiniteIsFoundAnywhere) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), infinity, -infinity}) {
    for (size_t size = 1; size < 20; ++size) {
      std::vector<float> values(size, -std::numeric_limits<float>::max());
      EXPECT_TRUE(AllFinite(values.data(), static_cast<int64_t>(size)));
      for (size_t i = 0; i < size; ++i) {
        values[i] = bad;
        EXPECT_FALSE(AllFinite(values.data(), static_cast<int64_t>(size)))
            << bad << " at " << i << " of " << size;
        values[i] = 0;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep

#include "base/hash.h"

#include <cstring>
#include <string>

#include "base/aligned_buffer.h"
#include "base/hash_simd.h"
#include "gtest/gtest.h"
#include "xxhash.h"

namespace lockstep {
namespace {

// Fingerprints are stored in checkpoints and compared between machines: they must never change. Values of
// XXH3_64bits, as `xxhsum -H3` prints them.
TEST(HashTest, StandardVectors) {
  EXPECT_EQ(Hash64(""), 0x2D06800538D394C2u);
  EXPECT_EQ(Hash64("abc"), 0x78AF5F94892F3950u);
}

TEST(HashTest, EveryByteCounts) {
  EXPECT_NE(Hash64("ab"), Hash64("ba"));
  EXPECT_NE(Hash64("a"), Hash64(absl::string_view("a\0", 2)));
  EXPECT_EQ(Hash64("abcd", 3), Hash64("abc"));
}

TEST(HashTest, HexHasSixteenDigits) {
  EXPECT_EQ(HashToHex(0), "0000000000000000");
  EXPECT_EQ(HashToHex(0xABCDEF), "0000000000abcdef");
  EXPECT_EQ(HashToHex(~uint64_t{0}), "ffffffffffffffff");
}

// Around the sizes at which other code takes over, and the last block of a copy.
const size_t kSizes[] = {0, 1, 3, 65535, 65536, 65537, 131071, 131072, 200001};

std::string Pattern(size_t bytes) {
  std::string pattern(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<char>(i * 31 + i / 251);
  return pattern;
}

TEST(HashTest, LargeBlocksHaveTheStandardHashToo) {
  for (const size_t bytes : kSizes) {
    const std::string data = Pattern(bytes);
    EXPECT_EQ(Hash64(data), XXH3_64bits(data.data(), bytes)) << bytes;
    EXPECT_EQ(avx2::HashLarge(data.data(), bytes), XXH3_64bits(data.data(), bytes)) << bytes;
  }
}

TEST(HashTest, ACopyHasTheBytesAndTheirHash) {
  for (const size_t bytes : kSizes) {
    // One byte ahead, so that the source is not aligned; one byte behind, that stays.
    const std::string data = Pattern(bytes + 1);
    const AlignedBytes copy(bytes + 1), another(bytes + 1);
    EXPECT_EQ(CopyAndHash64(data.data() + 1, bytes, copy.data()), XXH3_64bits(data.data() + 1, bytes))
        << bytes;
    EXPECT_EQ(std::memcmp(copy.data(), data.data() + 1, bytes), 0) << bytes;
    EXPECT_EQ(copy.data()[bytes], std::byte{0}) << bytes;
    EXPECT_EQ(avx2::CopyAndHashLarge(data.data() + 1, bytes, another.data()),
              XXH3_64bits(data.data() + 1, bytes));
    EXPECT_EQ(std::memcmp(another.data(), copy.data(), bytes + 1), 0) << bytes;
  }
}

}  // namespace
}  // namespace lockstep

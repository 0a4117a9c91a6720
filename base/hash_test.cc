#include "base/hash.h"

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace lockstep

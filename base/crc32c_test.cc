#include "base/crc32c.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

uint32_t Crc(const std::string& bytes) { return Crc32c(bytes.data(), bytes.size()); }

// Values of RFC 3720, B.4.
TEST(Crc32cTest, StandardVectors) {
  EXPECT_EQ(Crc(""), 0u);
  EXPECT_EQ(Crc("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc(std::string(32, '\xff')), 0x62A8AB43u);
  std::string rising(32, '\0');
  std::iota(rising.begin(), rising.end(), '\0');
  EXPECT_EQ(Crc(rising), 0x46DD794Eu);
  std::reverse(rising.begin(), rising.end());
  EXPECT_EQ(Crc(rising), 0x113FDB5Cu);
}

TEST(Crc32cTest, PartsGiveTheSameAsTheWhole) {
  const std::string bytes = "The quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const uint32_t first = Crc32c(bytes.data(), cut);
    EXPECT_EQ(Crc32c(bytes.data() + cut, bytes.size() - cut, first), Crc(bytes)) << cut;
  }
}

}  // namespace
}  // namespace lockstep

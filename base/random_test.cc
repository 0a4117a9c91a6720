#include "base/random.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// The seed whose key is `key` for the purpose kInitializer.
uint64_t SeedForKey(uint64_t key) { return key - 0x9E3779B97F4A7C15u; }

// Weights and data order of every job follow from these: they must never change. Values of Random123's
// known-answer tests for philox4x32 with 10 rounds.
TEST(RandomTest, StandardVectors) {
  constexpr auto kPurpose = RandomPurpose::kInitializer;
  EXPECT_THAT(Philox(SeedForKey(0), kPurpose, 0, 0),
              ElementsAre(0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8));
  constexpr uint64_t kOnes = ~uint64_t{0};
  EXPECT_THAT(Philox(SeedForKey(kOnes), kPurpose, kOnes, kOnes),
              ElementsAre(0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD));
  EXPECT_THAT(Philox(SeedForKey(0x299F31D0A4093822), kPurpose, 0x0370734413198A2E, 0x85A308D3243F6A88),
              ElementsAre(0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1));
}

TEST(RandomTest, SeedPurposeAndCounterAllCount) {
  const std::set<RandomBlock> blocks = {
      Philox(1, RandomPurpose::kDropout, 2, 3), Philox(2, RandomPurpose::kDropout, 2, 3),
      Philox(1, RandomPurpose::kSeed, 2, 3),    Philox(1, RandomPurpose::kDropout, 3, 3),
      Philox(1, RandomPurpose::kDropout, 2, 4), Philox(1, RandomPurpose::kDropout, 3, 2)};
  EXPECT_EQ(blocks.size(), 6u);
}

TEST(RandomTest, UnitsAreInTheHalfOpenInterval) {
  EXPECT_EQ(UnitFloat(0), 0.0f);
  EXPECT_EQ(UnitFloat(0xFFFFFFFF), 1.0f - 0x1p-24f);
  EXPECT_EQ(UnitFloat(0x80000000), 0.5f);
  EXPECT_EQ(UnitDouble(0, 0), 0.0);
  EXPECT_EQ(UnitDouble(0xFFFFFFFF, 0xFFFFFFFF), 1.0 - 0x1p-53);
  EXPECT_EQ(UnitDouble(0x80000000, 0), 0.5);
}

}  // namespace
}  // namespace lockstep

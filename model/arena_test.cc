#include "model/arena.h"

#include <cstdint>

#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(ArenaTest, SlicesAreAlignedAndDoNotOverlap) {
  Arena arena(5);
  const int64_t first = arena.Reserve(3);
  const int64_t second = arena.Reserve(7);
  ASSERT_OK(arena.Allocate());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.Slice(first)) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.Slice(second)) % 64, 0u);
  EXPECT_GE(arena.Slice(second) - arena.Slice(first), 5 * 3);
  EXPECT_GE(arena.bytes(), (arena.Slice(second) - arena.Slice(first) + 5 * 7) * 4);
}

TEST(ArenaTest, MoreThanTheMachineHasIsRefused) {
  Arena arena(int64_t{1} << 40);
  arena.Reserve(int64_t{1} << 31);
  EXPECT_THAT(arena.Allocate(),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::HasSubstr("use a smaller batch")));
}

}  // namespace
}  // namespace lockstep

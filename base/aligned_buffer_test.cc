#include "base/aligned_buffer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

uintptr_t Address(const AlignedBytes& bytes) { return reinterpret_cast<uintptr_t>(bytes.data()); }

TEST(AlignedBufferTest, NothingIsAllocatedForNoBytes) {
  EXPECT_EQ(AlignedBytes().data(), nullptr);
  EXPECT_EQ(AlignedBytes(0).data(), nullptr);
  EXPECT_EQ(AlignedBytes(0).size(), 0u);
}

TEST(AlignedBufferTest, AnySizeIsAlignedAndZero) {
  for (const size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{4097},
                            (size_t{2} << 20) - 1, (size_t{2} << 20) + 1}) {
    const AlignedBytes bytes(size);
    EXPECT_EQ(Address(bytes) % AlignedBytes::kAlignment, 0u) << size;
    EXPECT_EQ(bytes.size(), size);
    EXPECT_TRUE(
        std::all_of(bytes.data(), bytes.data() + size, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(AlignedBufferTest, LargeOnesBeginOnAHugePage) {
  EXPECT_EQ(Address(AlignedBytes(size_t{3} << 20)) % (size_t{2} << 20), 0u);
}

TEST(AlignedBufferTest, MovingHandsOverTheMemory) {
  AlignedBuffer<float> from(10);
  from[9] = 7;
  float* const data = from.data();
  const AlignedBuffer<float> to(std::move(from));
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(to.size(), 10u);
  EXPECT_EQ(to.span()[9], 7);
}

}  // namespace
}  // namespace lockstep

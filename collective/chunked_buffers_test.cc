#include "collective/chunked_buffers.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(ChunkedBuffersTest, EveryElementIsInExactlyOneSegmentInOrder) {
  for (size_t num_doubles : {0, 1, 2, 3, 7, 30}) {
    for (size_t num_floats : {0, 1, 3, 4, 5, 16, 101}) {
      for (int chunks : {1, 2, 3, 4, 7, 16}) {
        for (size_t segment_bytes : {8, 16, 40, 1024}) {
          std::vector<double> doubles(num_doubles);
          std::vector<float> floats(num_floats);
          const ChunkedBuffers cut({absl::MakeSpan(doubles), absl::MakeSpan(floats)}, chunks, segment_bytes);
          size_t next_double = 0, next_float = 0;
          for (int c = 0; c < chunks; ++c) {
            for (int64_t s = 0; s < cut.num_segments(); ++s) {
              const ReduceBuffers segment = cut.Segment(c, s);
              EXPECT_LE(SizeBytes(segment), segment_bytes);
              if (!segment.doubles.empty()) {
                EXPECT_EQ(segment.doubles.data(), doubles.data() + next_double);
              }
              if (!segment.floats.empty()) {
                EXPECT_EQ(segment.floats.data(), floats.data() + next_float);
              }
              next_double += segment.doubles.size();
              next_float += segment.floats.size();
            }
            EXPECT_EQ(SizeBytes(cut.Segment(c, cut.num_segments())), 0u);
          }
          EXPECT_EQ(next_double, num_doubles);
          EXPECT_EQ(next_float, num_floats);
        }
      }
    }
  }
}

TEST(ChunkedBuffersTest, ChunksDifferByAtMostOneElement) {
  std::vector<float> floats(1023);
  const ChunkedBuffers cut({{}, absl::MakeSpan(floats)}, 4, 1 << 20);
  EXPECT_EQ(cut.num_segments(), 1);
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(cut.Segment(c, 0).floats.size(), 255.5, 0.5);
}

TEST(ChunkedBuffersTest, NothingHasNoSegments) { EXPECT_EQ(ChunkedBuffers({}, 3, 8).num_segments(), 0); }

}  // namespace
}  // namespace lockstep

#include "collective/chunked_buffers.h"

#include <algorithm>

namespace lockstep {
namespace {

// The elements of `part`, which starts at byte `part_begin` of a chunk, that lie in bytes [begin, end).
template <typename T>
absl::Span<T> Intersect(absl::Span<T> part, size_t part_begin, size_t begin, size_t end) {
  const size_t part_end = part_begin + part.size() * sizeof(T);
  begin = std::clamp(begin, part_begin, part_end);
  end = std::clamp(end, part_begin, part_end);
  return part.subspan((begin - part_begin) / sizeof(T), (end - begin) / sizeof(T));
}

template <typename T>
absl::Span<T> Fraction(absl::Span<T> all, int index, int count) {
  const size_t begin = ChunkBegin(all.size(), index, count);
  return all.subspan(begin, ChunkBegin(all.size(), index + 1, count) - begin);
}

}  // namespace

ChunkedBuffers::ChunkedBuffers(const ReduceBuffers& buffers, int num_chunks, size_t segment_bytes)
    : buffers_(buffers), num_chunks_(num_chunks), segment_bytes_(segment_bytes) {
  for (int chunk = 0; chunk < num_chunks; ++chunk) {
    const size_t bytes = SizeBytes(ChunkOf(buffers, chunk, num_chunks));
    num_segments_ = std::max<int64_t>(num_segments_, (bytes + segment_bytes - 1) / segment_bytes);
  }
}

ReduceBuffers ChunkOf(const ReduceBuffers& buffers, int chunk, int num_chunks) {
  return {Fraction(buffers.doubles, chunk, num_chunks), Fraction(buffers.floats, chunk, num_chunks)};
}

ReduceBuffers PlaceIn(std::byte* memory, const ReduceBuffers& like) {
  auto* const doubles = reinterpret_cast<double*>(memory);
  auto* const floats = reinterpret_cast<float*>(doubles + like.doubles.size());
  return {{doubles, like.doubles.size()}, {floats, like.floats.size()}};
}

ReduceBuffers ChunkedBuffers::Segment(int chunk, int64_t segment) const {
  const ReduceBuffers all = ChunkOf(buffers_, chunk, num_chunks_);
  const size_t begin = segment * segment_bytes_;
  const size_t end = begin + segment_bytes_;
  return {Intersect(all.doubles, 0, begin, end),
          Intersect(all.floats, all.doubles.size() * sizeof(double), begin, end)};
}

}  // namespace lockstep

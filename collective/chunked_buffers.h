// How the buffers of one all-reduce are cut: into world_size chunks, and each chunk into segments.
//
// Doubles and floats are each cut into chunks that differ by at most one element. A chunk is thought of as
// one run of bytes, its doubles in front of its floats, and cut every segment_bytes bytes; so the doubles
// travel in the first segments. Chunks may be empty (fewer elements than ranks), and a chunk may have one
// segment less than another. A value type that refers to the caller's buffers.
#ifndef LOCKSTEP_COLLECTIVE_CHUNKED_BUFFERS_H_
#define LOCKSTEP_COLLECTIVE_CHUNKED_BUFFERS_H_

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "collective/communicator.h"

namespace lockstep {

class ChunkedBuffers {
 public:
  // segment_bytes is a positive multiple of 8, so that no cut divides an element.
  ChunkedBuffers(const ReduceBuffers& buffers, int num_chunks, size_t segment_bytes);

  // Of the longest chunk.
  int64_t num_segments() const { return num_segments_; }

  // The part of the buffers that is segment `segment` of `chunk`; empty beyond the chunk's last segment.
  ReduceBuffers Segment(int chunk, int64_t segment) const;

 private:
  const ReduceBuffers buffers_;
  const int num_chunks_;
  const size_t segment_bytes_;
  int64_t num_segments_ = 0;
};

// Where chunk `chunk` of `num_chunks` begins in an array of `size` elements; it ends where the next begins.
inline size_t ChunkBegin(size_t size, int chunk, int num_chunks) { return size * chunk / num_chunks; }

// Chunk `chunk` of `num_chunks`, in one piece.
ReduceBuffers ChunkOf(const ReduceBuffers& buffers, int chunk, int num_chunks);

// Buffers of the same sizes as `like` in `memory`, which is aligned for doubles and holds SizeBytes(like)
// bytes.
ReduceBuffers PlaceIn(std::byte* memory, const ReduceBuffers& like);

// What `bytes` take in scratch memory if the next thing in it is to be aligned as well.
inline size_t AlignedSize(size_t bytes) {
  constexpr size_t kAlignment = AlignedBytes::kAlignment;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

inline size_t SizeBytes(const ReduceBuffers& buffers) {
  return buffers.doubles.size() * sizeof(double) + buffers.floats.size() * sizeof(float);
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_CHUNKED_BUFFERS_H_

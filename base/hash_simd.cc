#include "base/hash_simd.h"

#include <immintrin.h>

// All of it inline and for this instruction set; the library's own code is for SSE2.
#define XXH_INLINE_ALL
#include "xxhash.h"

namespace lockstep {
namespace LOCKSTEP_SIMD {
namespace {

// What was hashed is still in the second-level cache when it is copied.
constexpr size_t kBlock = size_t{64} << 10;

// Past the caches: a plain store would read each line of `to` first.
void StreamBlock(const char* from, char* to) {
  for (size_t i = 0; i < kBlock; i += sizeof(__m256i)) {
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), values);
  }
}

}  // namespace

uint64_t HashLarge(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

uint64_t CopyAndHashLarge(const void* from, size_t bytes, void* to) {
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (; bytes >= kBlock; bytes -= kBlock) {
    XXH3_64bits_update(&state, source, kBlock);
    StreamBlock(source, target);
    source += kBlock;
    target += kBlock;
  }
  // Streaming stores are not ordered against those that publish the copy to other threads.
  _mm_sfence();
  XXH3_64bits_update(&state, source, bytes);
  __builtin_memcpy(target, source, bytes);
  return XXH3_64bits_digest(&state);
}

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

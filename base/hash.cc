#include "base/hash.h"

#include <cstring>

#include "absl/strings/str_format.h"
#include "base/cpu.h"
#include "base/hash_simd.h"
#include "xxhash.h"

namespace lockstep {

namespace {

// From here on the time of a hash is that of reading memory, if the kernel is for wide vectors: 300 MB in 13
// ms against 17 ms with the library's SSE2 code, and 58 ms where other code left the upper halves of vectors
// dirty.
constexpr size_t kLarge = size_t{64} << 10;

bool HasAvx512() { return BestInstructionSet() == InstructionSet::kAvx512; }

}  // namespace

uint64_t Hash64(const void* data, size_t bytes) {
  if (bytes < kLarge) return XXH3_64bits(data, bytes);
  return HasAvx512() ? avx512::HashLarge(data, bytes) : avx2::HashLarge(data, bytes);
}

uint64_t CopyAndHash64(const void* from, size_t bytes, void* to) {
  if (bytes < kLarge) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return Hash64(from, bytes);
  }
  return HasAvx512() ? avx512::CopyAndHashLarge(from, bytes, to) : avx2::CopyAndHashLarge(from, bytes, to);
}

std::string HashToHex(uint64_t hash) { return absl::StrFormat("%016x", hash); }

}  // namespace lockstep

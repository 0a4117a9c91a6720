// A fast 64-bit hash of bytes for fingerprints (layouts, specs, parameters). Not for security.
#ifndef LOCKSTEP_BASE_HASH_H_
#define LOCKSTEP_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// XXH3, 64 bits. The same on every machine of the same byte order.
uint64_t Hash64(const void* data, size_t bytes);
inline uint64_t Hash64(absl::string_view text) { return Hash64(text.data(), text.size()); }

// Copies `bytes` bytes to `to` and returns their Hash64, in one pass over memory. `to` is aligned as
// AlignedBytes are, and does not overlap `from`.
uint64_t CopyAndHash64(const void* from, size_t bytes, void* to);

// 16 lower-case hexadecimal digits.
std::string HashToHex(uint64_t hash);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_HASH_H_

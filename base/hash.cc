#include "base/hash.h"

#include "absl/strings/str_format.h"
#include "xxhash.h"

namespace lockstep {

uint64_t Hash64(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

std::string HashToHex(uint64_t hash) { return absl::StrFormat("%016x", hash); }

}  // namespace lockstep

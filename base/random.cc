#include "base/random.h"

#include "Random123/philox.h"

namespace lockstep {

uint64_t PhiloxKey(uint64_t seed, RandomPurpose purpose) {
  // Philox has a key of 64 bits. The purpose is mixed into it by an odd constant (2^64 / golden ratio), as
  // Random123 itself derives round keys, so that purposes differ in all key bits.
  return seed + static_cast<uint64_t>(purpose) * 0x9E3779B97F4A7C15u;
}

RandomBlock Philox(uint64_t seed, RandomPurpose purpose, uint64_t high, uint64_t low) {
  const uint64_t key = PhiloxKey(seed, purpose);
  const r123::Philox4x32::ctr_type counter = {{
      static_cast<uint32_t>(low),
      static_cast<uint32_t>(low >> 32),
      static_cast<uint32_t>(high),
      static_cast<uint32_t>(high >> 32),
  }};
  const r123::Philox4x32::key_type words = {{
      static_cast<uint32_t>(key),
      static_cast<uint32_t>(key >> 32),
  }};
  const r123::Philox4x32::ctr_type result = r123::Philox4x32()(counter, words);
  return {result[0], result[1], result[2], result[3]};
}

}  // namespace lockstep

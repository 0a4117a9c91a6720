// Counter-based randomness: a value is a pure function of a key and a counter, so that it does not depend
// on the rank, the thread or the order in which values are drawn.
//
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox 4x32-10).
#ifndef LOCKSTEP_BASE_RANDOM_H_
#define LOCKSTEP_BASE_RANDOM_H_

#include <array>
#include <cstdint>

namespace lockstep {

// What a stream of random values is for. Part of the key: streams of different purpose never overlap.
enum class RandomPurpose : uint32_t {
  kInitializer = 1,
  kDropout = 2,
  kPermutation = 3,
  kSynthetic = 4,
  kSeed = 5,
};

using RandomBlock = std::array<uint32_t, 4>;

// The key of Philox below, for kernels that compute many blocks at once.
uint64_t PhiloxKey(uint64_t seed, RandomPurpose purpose);

// Four random words for a counter of 128 bits (high, low).
RandomBlock Philox(uint64_t seed, RandomPurpose purpose, uint64_t high, uint64_t low);

// [0, 1) with 24 bits: exact in float.
inline float UnitFloat(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// [0, 1) with 53 bits.
inline double UnitDouble(uint32_t high, uint32_t low) {
  return static_cast<double>(((static_cast<uint64_t>(high) << 32) | low) >> 11) * 0x1p-53;
}

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_RANDOM_H_

#include "data/permutation.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "base/random.h"

namespace lockstep {
namespace {

// Even, so that halves of unequal width end where they began. Luby and Rackoff need 4 for large halves. With
// few rows the orders must also be equally frequent: halves of 1 to 3 bits fail the chi-square test of
// PermutationTest by far, 4 bits pass from 4 rounds on. 6 rounds leave a margin.
constexpr int kRounds = 6;
constexpr int kLeastBits = 8;

int BitWidth(uint64_t value) { return value == 0 ? 0 : 64 - __builtin_clzll(value); }

uint64_t LowBits(uint64_t value, int bits) { return value & ((uint64_t{1} << bits) - 1); }

}  // namespace

Permutation::Permutation(int64_t n, uint64_t seed, uint64_t epoch)
    : n_(static_cast<uint64_t>(n)),
      seed_(seed),
      epoch_(epoch),
      bits_(std::max(kLeastBits, BitWidth(n_ - 1))) {
  CHECK_GE(n, 1);
}

int64_t Permutation::operator()(int64_t position) const {
  DCHECK(position >= 0 && static_cast<uint64_t>(position) < n_);
  uint64_t value = static_cast<uint64_t>(position);
  do {
    value = Mix(value);
  } while (value >= n_);
  return static_cast<int64_t>(value);
}

uint64_t Permutation::Mix(uint64_t value) const {
  int left_bits = bits_ / 2;
  int right_bits = bits_ - left_bits;
  uint64_t left = value >> right_bits;
  uint64_t right = LowBits(value, right_bits);
  for (uint64_t round = 0; round < kRounds; ++round) {
    // Halves have at most 32 bits, so that round and half share one counter word.
    const RandomBlock block = Philox(seed_, RandomPurpose::kPermutation, epoch_, (round << 32) | right);
    const uint64_t mixed = left ^ LowBits(block[0], left_bits);
    left = right;
    right = mixed;
    std::swap(left_bits, right_bits);
  }
  return (left << right_bits) | right;
}

}  // namespace lockstep

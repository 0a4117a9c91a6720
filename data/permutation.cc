#include "data/permutation.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "base/random.h"

namespace lockstep {
namespace {

int BitWidth(uint64_t value) { return value == 0 ? 0 : 64 - __builtin_clzll(value); }

uint64_t LowBits(uint64_t value, int bits) { return value & ((uint64_t{1} << bits) - 1); }

// The finaliser of SplitMix64: every bit of the input changes every bit of the result.
uint64_t Scramble(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace

Permutation::Permutation(int64_t n, uint64_t seed, uint64_t epoch)
    : n_(static_cast<uint64_t>(n)), bits_(std::max(kLeastBits, BitWidth(n_ - 1))) {
  CHECK_GE(n, 1);
  for (int round = 0; round < kRounds; ++round) {
    const RandomBlock block = Philox(seed, RandomPurpose::kPermutation, epoch, round);
    keys_[round] = (uint64_t{block[0]} << 32) | block[1];
  }
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
  for (const uint64_t key : keys_) {
    const uint64_t mixed = left ^ LowBits(Scramble(right ^ key), left_bits);
    left = right;
    right = mixed;
    std::swap(left_bits, right_bits);
  }
  return (left << right_bits) | right;
}

}  // namespace lockstep

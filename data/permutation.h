// A random order of n rows whose positions are computed one by one: no stored array, so that it costs
// nothing to begin at any position of any epoch, and every rank has the same order.
//
// A Feistel network is a bijection of [0, 2^bits), whatever its round function. Values outside [0, n) are
// fed back until one falls inside (cycle walking): less than two evaluations on average, as 2^bits < 2n, and
// for n < 128 no more than 256 for all n together. Philox draws the keys of the rounds; the rounds mix with
// the finaliser of SplitMix64, which is a tenth of the cost of Philox.
// Sources: Luby & Rackoff 1988, "How to construct pseudorandom permutations"; Black & Rogaway 2002, "Ciphers
// with arbitrary finite domains"; Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators".
#ifndef LOCKSTEP_DATA_PERMUTATION_H_
#define LOCKSTEP_DATA_PERMUTATION_H_

#include <array>
#include <cstdint>

namespace lockstep {

// A value type. Thread-safe.
class Permutation {
 public:
  // Of [0, n), n >= 1. Each (seed, epoch) is an order of its own.
  Permutation(int64_t n, uint64_t seed, uint64_t epoch);

  // The element at `position`, both in [0, n). Different positions give different elements.
  int64_t operator()(int64_t position) const;

 private:
  uint64_t Mix(uint64_t value) const;

  // Even, so that halves of unequal width end where they began. Luby and Rackoff need 4 for large halves.
  // With few rows the orders must also be equally frequent: halves of 1 to 3 bits fail the chi-square test
  // of PermutationTest by far, 4 bits pass from 4 rounds on. 6 rounds leave a margin.
  static constexpr int kRounds = 6;
  static constexpr int kLeastBits = 8;

  uint64_t n_;
  std::array<uint64_t, kRounds> keys_;
  int bits_;  // n <= 2^bits
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_PERMUTATION_H_

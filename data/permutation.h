// A random order of n rows whose positions are computed one by one: no stored array, so that it costs
// nothing to begin at any position of any epoch, and every rank has the same order.
//
// A Feistel network of kRounds rounds, with Philox as round function, is a bijection of [0, 2^bits). Values
// outside [0, n) are fed back until one falls inside (cycle walking): less than two evaluations on average,
// as 2^bits < 2n, and for n < 128 no more than 256 for all n together.
// Sources: Luby & Rackoff 1988, "How to construct pseudorandom permutations"; Black & Rogaway 2002,
// "Ciphers with arbitrary finite domains".
#ifndef LOCKSTEP_DATA_PERMUTATION_H_
#define LOCKSTEP_DATA_PERMUTATION_H_

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

  uint64_t n_;
  uint64_t seed_;
  uint64_t epoch_;
  int bits_;  // n <= 2^bits
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_PERMUTATION_H_

// Shares of a whole in proportion to weights, in whole numbers, that only ever grow with the whole.
#ifndef LOCKSTEP_DATA_APPORTION_H_
#define LOCKSTEP_DATA_APPORTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// Gives out `seats` seats to parties of `weights` (each >= 1, seats <= their sum) by the method of Webster
// (Sainte-Lague): the next seat goes to the largest weight / (2 * seats so far + 1), ties to the first.
//
// Properties that the sampler needs: the shares sum to `seats`; a share never shrinks when `seats` grows;
// with seats == sum of weights, each share is its weight; each share is within
// weight / sum * parties / 2 + 1/2 of the exact proportion.
// Cost: O(parties^2), whatever the number of seats.
std::vector<int64_t> Apportion(int64_t seats, absl::Span<const int64_t> weights);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_APPORTION_H_

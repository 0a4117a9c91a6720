// Some of the ranks of a group as a group of their own: rank i of the subset is ranks[i] of the whole. Its
// messages travel beside those of the whole, and it lives and ends with it.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_SUBSET_TRANSPORT_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_SUBSET_TRANSPORT_H_

#include <memory>
#include <vector>

#include "collective/transport/transport.h"

namespace lockstep {

// Subsets that a rank belongs to at once have different numbers, from 1 to kMostSubsets, which keep their
// tags apart; so tags must be below 2^62.
constexpr int kMostSubsets = 3;

// `ranks` contains the whole's own rank, and each rank once; `whole` outlives the subset.
std::unique_ptr<Transport> MakeSubsetTransport(Transport* whole, std::vector<int> ranks, int number);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_SUBSET_TRANSPORT_H_

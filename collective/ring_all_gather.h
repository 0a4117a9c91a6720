// All-gather of strings round the ring: first the sizes, then the contents, n-1 steps each. For small things
// like addresses and fingerprints; blocks are not cut into segments.
#ifndef LOCKSTEP_COLLECTIVE_RING_ALL_GATHER_H_
#define LOCKSTEP_COLLECTIVE_RING_ALL_GATHER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "collective/exchange.h"

namespace lockstep {

// all[r] = rank r's `mine`. Blocks.
// Errors: INVALID_ARGUMENT if a rank's string is longer than 1 GiB; every rank then gets it.
absl::Status RingAllGather(absl::string_view mine, std::vector<std::string>* all, Exchange* exchange);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_RING_ALL_GATHER_H_

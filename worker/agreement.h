// Checks that the ranks of a group are about to do the same thing, before the first step.
#ifndef LOCKSTEP_WORKER_AGREEMENT_H_
#define LOCKSTEP_WORKER_AGREEMENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "collective/communicator.h"

namespace lockstep {

// What must be equal on all ranks: pairs of a name for people and a value ("model", "9f3a... (dense/kernel
// [20, 4]
// ...)").
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// Collective. FAILED_PRECONDITION, the same on every rank, naming the first entry that differs, the first
// rank that has another value than rank 0, and both values.
absl::Status CheckFingerprints(Communicator* communicator, const Fingerprint& mine);

// Collective. INTERNAL, the same on every rank, if the hash is not the same on all ranks; it names the ranks
// that deviate from the most frequent value. `what` and `step` are for the message.
absl::Status CheckHashes(Communicator* communicator, uint64_t hash, absl::string_view what, int64_t step);

// Collective. How many ranks run on this rank's host (told by the kernel's boot id), at least 1.
absl::StatusOr<int> RanksOnThisHost(Communicator* communicator);

// Collective. Rank 0's value on all ranks.
absl::StatusOr<std::string> BroadcastString(Communicator* communicator, absl::string_view rank_0_value);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_AGREEMENT_H_

// The status of a group that lost one of its ranks: UNAVAILABLE, "rank 2 (127.0.0.1:5303) lost: DETAIL", with
// the rank in a payload, so that code which decides what to do next need not read the message.
#ifndef LOCKSTEP_COLLECTIVE_PEER_LOST_H_
#define LOCKSTEP_COLLECTIVE_PEER_LOST_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace lockstep {

absl::Status MakePeerLostStatus(int rank, absl::string_view address, absl::string_view detail);

// DEADLINE_EXCEEDED: `rank` has waited for `peer`, which is the one to blame, for `timeout`. `where` names
// the operation and what of it was waited for.
absl::Status MakeStalledStatus(int rank, int peer, absl::Duration timeout, absl::string_view where);

// Notes in a status of any code (a timeout, say) that `rank` is the one to blame.
void SetLostRank(int rank, absl::Status* status);

// The rank to blame, if the status tells.
std::optional<int> LostRank(const absl::Status& status);

// `status` with `where` appended to its message; code and payloads stay.
absl::Status WithContext(const absl::Status& status, absl::string_view where);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_PEER_LOST_H_

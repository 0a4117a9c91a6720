// What all transports check and say alike.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_ERRORS_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_ERRORS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// INVALID_ARGUMENT if `peer` is no other rank of the group, ALREADY_EXISTS if the tag is under way.
absl::Status CheckOperation(int rank, int peer, int world_size, uint64_t tag, bool tag_in_use);

// INVALID_ARGUMENT: the ranks disagree about what they exchange.
absl::Status LengthMismatchStatus(int peer, absl::string_view address, uint64_t tag, size_t received_bytes,
                                  size_t expected_bytes);

// What a rank reports when `peer` ended the group with `cause`: the same code, and who is to blame. A cause
// that names a rank already is passed on word for word, so that all survivors report the same root cause.
absl::Status EndedByPeerStatus(int peer, absl::string_view address, const absl::Status& cause);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_ERRORS_H_

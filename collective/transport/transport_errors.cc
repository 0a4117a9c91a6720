#include "collective/transport/transport_errors.h"

#include "absl/strings/str_cat.h"
#include "collective/peer_lost.h"

namespace lockstep {

absl::Status CheckOperation(int rank, int peer, int world_size, uint64_t tag, bool tag_in_use) {
  if (peer < 0 || peer >= world_size || peer == rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", peer, " is no peer of rank ", rank, " in a group of ", world_size));
  }
  if (tag_in_use) {
    return absl::AlreadyExistsError(
        absl::StrCat("tag ", absl::Hex(tag), " is under way already between ranks ", rank, " and ", peer));
  }
  return absl::OkStatus();
}

absl::Status LengthMismatchStatus(int peer, absl::string_view address, uint64_t tag, size_t received_bytes,
                                  size_t expected_bytes) {
  return absl::InvalidArgumentError(absl::StrCat(
      "rank ", peer, " (", address, ") sent ", received_bytes, " bytes under tag ", absl::Hex(tag), " where ",
      expected_bytes, " are expected: the ranks do not run the same program or job"));
}

absl::Status EndedByPeerStatus(int peer, absl::string_view address, const absl::Status& cause) {
  if (LostRank(cause).has_value()) return cause;
  absl::Status status(cause.code(),
                      absl::StrCat("rank ", peer, " (", address, ") ended the group: ", cause.message()));
  SetLostRank(peer, &status);
  return status;
}

}  // namespace lockstep

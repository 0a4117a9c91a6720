#include "collective/peer_lost.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr char kPayloadUrl[] = "lockstep/lost_rank";

}  // namespace

absl::Status MakePeerLostStatus(int rank, absl::string_view address, absl::string_view detail) {
  absl::Status status =
      absl::UnavailableError(absl::StrCat("rank ", rank, " (", address, ") lost: ", detail));
  SetLostRank(rank, &status);
  return status;
}

absl::Status MakeStalledStatus(int rank, int peer, absl::Duration timeout, absl::string_view where) {
  absl::Status status = absl::DeadlineExceededError(
      absl::StrCat("rank ", rank, " made no progress for ", absl::FormatDuration(timeout), " in ", where,
                   ": see whether rank ", peer, " is alive and runs the same job, or raise timeout_seconds"));
  SetLostRank(peer, &status);
  return status;
}

void SetLostRank(int rank, absl::Status* status) {
  status->SetPayload(kPayloadUrl, absl::Cord(absl::StrCat(rank)));
}

std::optional<int> LostRank(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  int rank = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &rank)) return std::nullopt;
  return rank;
}

absl::Status WithContext(const absl::Status& status, absl::string_view where) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(status.message(), " (", where, ")"));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

}  // namespace lockstep

#include "worker/agreement.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// Between values of a fingerprint on the wire; cannot occur in names, shapes and hashes.
constexpr char kSeparator = '\x1f';

std::string Join(const Fingerprint& fingerprint) {
  return absl::StrJoin(fingerprint, std::string(1, kSeparator),
                       [](std::string* out, const auto& entry) { absl::StrAppend(out, entry.second); });
}

absl::Status Differs(absl::string_view name, int rank, absl::string_view value,
                     absl::string_view rank_0_value) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s differs between ranks: rank 0 has %s, rank %d has %s. Give every rank the same job and data", name,
      rank_0_value, rank, value));
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

absl::Status CheckFingerprints(Communicator* communicator, const Fingerprint& mine) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator->AllGather(Join(mine)));
  const std::vector<std::string> first = absl::StrSplit(all[0], kSeparator);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const std::vector<std::string> other = absl::StrSplit(all[rank], kSeparator);
    for (size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      const absl::string_view name = i < mine.size() ? absl::string_view(mine[i].first) : "the job";
      if (first[i] != other[i]) return Differs(name, static_cast<int>(rank), other[i], first[i]);
    }
    return Differs("the kind of job", static_cast<int>(rank), absl::StrCat(other.size(), " values"),
                   absl::StrCat(first.size()));
  }
  return absl::OkStatus();
}

absl::Status CheckHashes(Communicator* communicator, uint64_t hash, absl::string_view what, int64_t step) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator->AllGather(HashToHex(hash)));
  std::map<std::string, int> votes;
  for (const std::string& value : all) ++votes[value];
  if (votes.size() == 1) return absl::OkStatus();
  // On a tie rank 0's value counts as the right one.
  std::string majority = all[0];
  for (const auto& [value, count] : votes)
    if (count > votes[majority]) majority = value;
  std::vector<std::string> deviating;
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != majority) deviating.push_back(absl::StrCat("rank ", rank, " has ", all[rank]));
  return absl::InternalError(
      absl::StrFormat("%s differ between ranks after step %d: %s, the others have %s. Bad memory or a "
                      "processor that computes "
                      "differently; the job cannot go on",
                      what, step, absl::StrJoin(deviating, ", "), majority));
}

absl::StatusOr<int> RanksOnThisHost(Communicator* communicator) {
  const std::string mine = BootId();
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator->AllGather(mine));
  return static_cast<int>(std::count(all.begin(), all.end(), mine));
}

absl::StatusOr<std::string> BroadcastString(Communicator* communicator, absl::string_view rank_0_value) {
  ASSIGN_OR_RETURN(std::vector<std::string> all,
                   communicator->AllGather(communicator->rank() == 0 ? rank_0_value : absl::string_view()));
  return std::move(all[0]);
}

}  // namespace lockstep

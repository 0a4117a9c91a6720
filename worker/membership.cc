#include "worker/membership.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace lockstep {

std::string DescribeProcess(const v1::Identity& identity) {
  return absl::StrCat("pid ", identity.pid(), " on ", identity.hostname(), " listening on ",
                      identity.address());
}

absl::Status SupersededError(const v1::Identity& older, const v1::Identity& newer) {
  return absl::AlreadyExistsError(absl::StrCat("superseded: rank ", older.rank(), " has been taken over by ",
                                               DescribeProcess(newer), " from ", DescribeProcess(older)));
}

absl::Status CheckCompatible(const v1::Identity& ours, const v1::Identity& theirs) {
  if (theirs.wire_version() != ours.wire_version()) {
    return absl::FailedPreconditionError(
        absl::StrCat("wire version ", theirs.wire_version(), " (lockstep ", theirs.version(),
                     ") does not fit ours, ", ours.wire_version(), " (lockstep ", ours.version(), ")"));
  }
  if (theirs.build_id() != ours.build_id()) {
    return absl::FailedPreconditionError(absl::StrCat("build ", theirs.build_id(), " differs from ours, ",
                                                      ours.build_id(),
                                                      ": install the same program on every node"));
  }
  if (theirs.cluster_hash() != ours.cluster_hash()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cluster spec ", HashToHex(theirs.cluster_hash()), " (", theirs.world_size(),
                     " ranks) differs from ours, ", HashToHex(ours.cluster_hash()), " (", ours.world_size(),
                     " ranks): TF_CONFIG's cluster must be the same on every node"));
  }
  if (theirs.has_own_job() != ours.has_own_job()) {
    const char* const own = "runs a job of its own (--job)";
    const char* const submitted = "takes submitted jobs";
    return absl::FailedPreconditionError(absl::StrCat("that process ", theirs.has_own_job() ? own : submitted,
                                                      ", this one ", ours.has_own_job() ? own : submitted,
                                                      ": start every rank with the same flags"));
  }
  return absl::OkStatus();
}

Membership::Membership(const std::vector<std::string>& addresses, const v1::Identity& self,
                       absl::Duration heartbeat_timeout)
    : self_(self), heartbeat_timeout_(heartbeat_timeout) {
  for (const std::string& address : addresses) {
    Member member;
    member.address = address;
    member.problem = "not looked for yet";
    members_.push_back(member);
  }
  members_[0].state = MemberState::kJoined;
  members_[0].identity = self;
  members_[0].last_heard = absl::InfiniteFuture();
  members_[0].problem.clear();
}

std::string Membership::Name(int rank) const {
  return absl::StrCat("rank ", rank, " (", members_[rank].address, ")");
}

absl::Status Membership::CheckFits(const v1::Identity& hello) const {
  RETURN_IF_ERROR(CheckCompatible(self_, hello));
  if (hello.rank() >= 1 && hello.rank() < static_cast<int>(members_.size())) return absl::OkStatus();
  if (hello.rank() == 0) {
    return absl::AlreadyExistsError(absl::StrCat(
        "rank 0 is claimed by two processes: ", DescribeProcess(self_), ", and ", DescribeProcess(hello)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", hello.rank(), " is outside [0, ", members_.size(), ")"));
}

absl::StatusOr<std::optional<v1::Identity>> Membership::Join(const v1::Identity& hello, absl::Time now) {
  const bool known_rank = hello.rank() >= 0 && hello.rank() < static_cast<int>(members_.size());
  if (absl::Status fits = CheckFits(hello); !fits.ok()) {
    if (known_rank && members_[hello.rank()].state == MemberState::kMissing)
      members_[hello.rank()].problem = absl::StrCat("refused: ", fits.message());
    return fits;
  }
  Member& member = members_[hello.rank()];
  // It was frozen, say, and wakes; its successor may be missing just now.
  if (member.superseded.count(hello.incarnation()) > 0) return SupersededError(hello, member.identity);
  std::optional<v1::Identity> before;
  const bool is_another = member.identity.incarnation() != hello.incarnation();
  if (is_another && member.identity.incarnation() != 0) {
    member.superseded.insert(member.identity.incarnation());
    if (member.state == MemberState::kJoined) before = member.identity;
  }
  member.state = MemberState::kJoined;
  member.identity = hello;
  member.last_heard = now;
  member.problem.clear();
  return before;
}

void Membership::Heartbeat(int rank, uint64_t incarnation, absl::Time now) {
  Member& member = members_[rank];
  if (member.state == MemberState::kJoined && member.identity.incarnation() == incarnation)
    member.last_heard = now;
}

bool Membership::Leave(int rank, uint64_t incarnation, const std::string& why) {
  Member& member = members_[rank];
  if (member.state != MemberState::kJoined || member.identity.incarnation() != incarnation) return false;
  member.state = MemberState::kMissing;
  member.problem = why;
  return true;
}

std::vector<LostMember> Membership::Expire(absl::Time now) {
  std::vector<LostMember> lost;
  for (size_t rank = 1; rank < members_.size(); ++rank) {
    Member& member = members_[rank];
    if (member.state != MemberState::kJoined || now - member.last_heard < heartbeat_timeout_) continue;
    const std::string why =
        absl::StrFormat("no heartbeat for %s", absl::FormatDuration(now - member.last_heard));
    lost.push_back({static_cast<int>(rank), member.identity.incarnation(), why});
    Leave(static_cast<int>(rank), member.identity.incarnation(), why);
  }
  return lost;
}

void Membership::ProbeAnswered(int rank, const v1::Identity& answer) {
  if (rank == 0) {
    rival_.reset();
    if (answer.rank() == 0 && answer.incarnation() != self_.incarnation()) rival_ = answer;
    return;
  }
  Member& member = members_[rank];
  if (member.state == MemberState::kJoined) return;
  if (absl::Status compatible = CheckCompatible(self_, answer); !compatible.ok()) {
    member.problem = absl::StrCat("a process answers there (", DescribeProcess(answer), "), but its ",
                                  compatible.message());
  } else if (answer.rank() == 0 && answer.incarnation() != self_.incarnation()) {
    member.problem = DescribeRival(answer);
  } else if (answer.rank() != rank) {
    member.problem = absl::StrCat("rank ", answer.rank(), " answers at its address (",
                                  DescribeProcess(answer), "); check task.index");
  } else {
    member.problem =
        absl::StrCat("its process runs (", DescribeProcess(answer), ") but has not reached rank 0 yet");
  }
}

void Membership::ProbeFailed(int rank, const std::string& error) {
  if (rank == 0) rival_.reset();
  if (members_[rank].state != MemberState::kJoined) members_[rank].problem = error;
}

std::vector<int> Membership::Missing() const {
  std::vector<int> missing;
  for (size_t rank = 0; rank < members_.size(); ++rank)
    if (members_[rank].state != MemberState::kJoined) missing.push_back(static_cast<int>(rank));
  return missing;
}

std::string Membership::DescribeMissing() const {
  std::string missing = absl::StrJoin(Missing(), "; ", [this](std::string* out, int rank) {
    absl::StrAppend(out, Name(rank), " did not join: ", members_[rank].problem);
  });
  if (!missing.empty() && rival_.has_value()) absl::StrAppend(&missing, "; ", DescribeRival(*rival_));
  return missing;
}

std::string Membership::DescribeRival(const v1::Identity& rival) const {
  return absl::StrCat("rank 0 is claimed by two processes: ", DescribeProcess(self_), ", and ",
                      DescribeProcess(rival), "; check task.index");
}

}  // namespace lockstep

// Who is in the cluster, as the chief knows it: a pure state machine. Events and the time go in, decisions
// come out; no I/O, no clock, no lock. DESIGN.md has the diagram.
//
//   missing --Join--> joined --Leave or silence--> missing
//                     joined --Join of a newer process--> joined
//
// Of a missing rank it remembers why it is missing: a refused Join, or what a probe of its address has found.
#ifndef LOCKSTEP_WORKER_MEMBERSHIP_H_
#define LOCKSTEP_WORKER_MEMBERSHIP_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/cluster.pb.h"

namespace lockstep {

enum class MemberState { kMissing, kJoined };

struct Member {
  std::string address;  // as in TF_CONFIG
  MemberState state = MemberState::kMissing;
  v1::Identity identity;          // of a joined member
  absl::Time last_heard;          // of a joined member
  std::string problem;            // of a missing one: one line, "not looked for yet" at first
  std::set<uint64_t> superseded;  // incarnations that another process has taken the rank of
};

struct LostMember {
  int rank;
  uint64_t incarnation;
  std::string why;
};

class Membership {
 public:
  // `self` is the chief's own identity: rank 0, joined for ever. A member is lost after `heartbeat_timeout`
  // of silence.
  Membership(const std::vector<std::string>& addresses, const v1::Identity& self,
             absl::Duration heartbeat_timeout);

  // A process asks to be the rank in its identity. Of two processes with one rank, other than 0, the one that
  // came last has it: returns the one before if that was thought to be alive.
  // INVALID_ARGUMENT: no such rank. FAILED_PRECONDITION: cluster spec, build or wire version differ.
  // ALREADY_EXISTS: rank 0; or the process was superseded by another one before. The message names both.
  absl::StatusOr<std::optional<v1::Identity>> Join(const v1::Identity& hello, absl::Time now);

  // Unknown incarnations are ignored: late news of an earlier life.
  void Heartbeat(int rank, uint64_t incarnation, absl::Time now);
  // Whether the member was joined until now.
  bool Leave(int rank, uint64_t incarnation, const std::string& why);

  // Members that have been silent for too long. They are missing from now on.
  std::vector<LostMember> Expire(absl::Time now);

  // What a probe of a missing rank's address has found: another process there, or an error. Of rank 0's
  // address, where this process does not listen if it was bound elsewhere: another one that claims to be it.
  void ProbeAnswered(int rank, const v1::Identity& answer);
  void ProbeFailed(int rank, const std::string& error);

  bool complete() const { return Missing().empty(); }
  std::vector<int> Missing() const;
  // "rank 1 (w1:5302) did not join: connection refused; rank 2 ..."; empty if complete.
  std::string DescribeMissing() const;

  const std::vector<Member>& members() const { return members_; }
  // "rank 1 (w1:5302)"
  std::string Name(int rank) const;

 private:
  absl::Status CheckFits(const v1::Identity& hello) const;
  std::string DescribeRival(const v1::Identity& rival) const;

  const v1::Identity self_;
  const absl::Duration heartbeat_timeout_;
  std::vector<Member> members_;
  std::optional<v1::Identity> rival_;  // another process that claims to be rank 0
};

// What two processes of one cluster must have in common: OK, or FAILED_PRECONDITION with both values.
absl::Status CheckCompatible(const v1::Identity& ours, const v1::Identity& theirs);

// "pid 123 on host-a listening on 127.0.0.1:5301"
std::string DescribeProcess(const v1::Identity& identity);

// What a process is told whose rank another one has taken.
absl::Status SupersededError(const v1::Identity& older, const v1::Identity& newer);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_MEMBERSHIP_H_

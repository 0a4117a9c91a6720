// The generations of one job, as rank 0 decides about them: a pure state machine. Events and the time go in,
// orders come out; no I/O, no clock, no lock. DESIGN.md has the diagram.
//
//   forming --the ranks it needs are there--> running --every rank succeeded--> ended
//      ^                                         |
//      |                                         | first failure, loss or wish to stop
//      +-- every rank has let go, ------------ ending --------------------------> ended
//          and the policy lets the job go on
//
// What always holds:
//   - At most one generation lives: the next one starts when every rank of the one before has reported, is
//     lost, or was expelled. Numbers only grow.
//   - No wait without an end: `deadline` is finite while the group forms or ends.
//   - The first failure of a generation is its cause, whatever is reported later.
#ifndef LOCKSTEP_WORKER_JOB_GENERATIONS_H_
#define LOCKSTEP_WORKER_JOB_GENERATIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"

namespace lockstep {

struct GenerationPolicy {
  v1::JobSpec::OnFailure on_failure = v1::JobSpec::WAIT;  // never unspecified
  int min_workers = 1;                                    // of CONTINUE
  absl::Duration join_timeout = absl::Seconds(60);        // until the first generation starts
  absl::Duration rejoin_timeout = absl::Seconds(300);     // from a failure to the next applied step
  absl::Duration wind_down = absl::Seconds(15);           // for the ranks of a generation to let go
  // Between a generation that failed although no process was lost (a cut between two ranks, say) and the
  // next.
  absl::Duration pause = absl::Seconds(1);
};

// rejoin_timeout_seconds of a specification, or its default.
absl::Duration RejoinTimeout(const v1::JobSpec& spec);

// How one generation ended on one rank.
struct RankOutcome {
  enum class Kind {
    kSucceeded,
    kGroupFailed,     // a peer or the way to it was lost: another generation may succeed
    kFailed,          // an error that another generation would meet again
    kAskedToRegroup,  // all stopped after the same step, to take ranks in
    kPreempted,       // all stopped after the same step, since a process was told to
  };
  int rank = 0;
  int64_t generation = 0;
  Kind kind = Kind::kSucceeded;
  std::string text;                   // the cause, in one line with the rank's name
  std::optional<int> preempted_rank;  // of kPreempted, if it was a single one
};

struct GenerationOrder {
  enum class Kind {
    kStart,         // `generation` on `ranks`
    kEnd,           // `generation` is over; tell `ranks`. RUNNING: another one follows
    kExpel,         // the only one of `ranks` does not let go: it has to join anew
    kAskToRegroup,  // make the ranks stop after the step under way
  };
  Kind kind;
  int64_t generation;
  std::vector<int> ranks;
  v1::JobState state = v1::RUNNING;
  std::string text;  // of kEnd and kExpel: why
};

class JobGenerations {
 public:
  enum class Phase { kForming, kRunning, kEnding, kEnded };

  // `joined[r]`: whether rank r is there. `has_run`: an earlier life of this process ran the job, so that
  // ranks may take as long to join as after a failure. `describe_missing` tells why ranks are missing, in one
  // line.
  JobGenerations(const GenerationPolicy& policy, std::vector<bool> joined, int64_t first_generation,
                 bool has_run, std::function<std::string()> describe_missing, absl::Time now);

  // `held_generation`: of this job, whose state the process has kept; 0: none. The next one has a greater
  // number.
  void OnJoined(int rank, int64_t held_generation, absl::Time now);
  // `cause`: one line with the rank's name.
  void OnLost(int rank, const std::string& cause, absl::Time now);
  // Outcomes of other generations are ignored.
  void OnOutcome(const RankOutcome& outcome, absl::Time now);
  // The live generation has applied a step: what failed before is overcome. (So it is when a generation has
  // lived for rejoin_timeout: not every task has steps.)
  void OnStep();
  void OnTime(absl::Time now);
  // Ends the job with this state, once its ranks have let go.
  void Stop(v1::JobState state, const std::string& why, absl::Time now);

  // When OnTime has something to do.
  absl::Time deadline() const;
  // What is to be done, in this order.
  std::vector<GenerationOrder> TakeOrders();
  bool has_orders() const { return !orders_.empty(); }

  Phase phase() const { return phase_; }
  int64_t generation() const { return generation_; }                   // the live one, or the next
  bool is_member(int rank) const { return members_.count(rank) > 0; }  // of the live generation
  // Once it has ended:
  v1::JobState state() const { return state_; }
  const std::string& error() const { return error_; }

 private:
  struct Ending {
    bool final = false;  // the job ends with it
    v1::JobState state = v1::RUNNING;
    std::string cause;
    bool told = false;
    bool process_lost = false;
    absl::Time deadline;
  };

  std::vector<int> Joined() const;
  bool Enough(size_t there, absl::Time now) const;
  void FormIfPossible(absl::Time now);
  void Fail(const Ending& ending, absl::Time now);
  void BeginToOvercome(const std::string& cause, absl::Time now);
  void LetStop(const RankOutcome& outcome, absl::Time now);
  bool AllAnswered() const;
  bool Succeeded() const;
  void SettleIfAnswered(absl::Time now);
  void Settle(absl::Time now);
  void GiveUpOnSilent(absl::Time now);
  void TellEndOnce();
  void TellEnd(v1::JobState state, const std::string& text);
  void EndJob(v1::JobState state, const std::string& error);
  std::string TimeoutText() const;

  const GenerationPolicy policy_;
  const std::function<std::string()> describe_missing_;
  std::vector<bool> joined_;
  Phase phase_ = Phase::kForming;
  int64_t generation_;
  bool has_run_;
  std::set<int> members_;                         // of the live generation
  std::map<int, RankOutcome::Kind> outcomes_;     // of members
  std::set<int> gone_;                            // members that will not report
  std::optional<Ending> ending_;                  // of the live generation
  std::string cause_;                             // of the last failure that is not overcome; empty: none
  absl::Time form_deadline_;                      // of the group that forms
  absl::Time partial_from_;                       // CONTINUE waits until then for ranks that are missing
  absl::Time started_ = absl::InfinitePast();     // the live generation
  absl::Time not_before_ = absl::InfinitePast();  // the next generation
  std::vector<GenerationOrder> orders_;
  v1::JobState state_ = v1::JOB_STATE_UNSPECIFIED;
  std::string error_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_JOB_GENERATIONS_H_

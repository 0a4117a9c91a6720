#include "worker/job_generations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Phase = JobGenerations::Phase;
using Outcome = RankOutcome::Kind;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

std::string ToText(const GenerationOrder& order) {
  static const char* const kNames[] = {"start", "end", "expel", "regroup"};
  std::string text = absl::StrCat(kNames[static_cast<int>(order.kind)], " ", order.generation, " on ",
                                  absl::StrJoin(order.ranks, ","));
  if (order.kind == GenerationOrder::Kind::kEnd)
    absl::StrAppend(&text, " ", v1::JobState_Name(order.state), ": ", order.text);
  return text;
}

// A machine with a clock, whose orders are read as text.
class Script {
 public:
  explicit Script(const GenerationPolicy& policy, std::vector<bool> joined = {true, true, true},
                  bool has_run = false)
      : machine(
            policy, std::move(joined), 1, has_run, [] { return "rank 2 is missing"; }, kStart) {}

  std::vector<std::string> Orders() {
    std::vector<std::string> texts;
    for (const GenerationOrder& order : machine.TakeOrders()) texts.push_back(ToText(order));
    return texts;
  }
  std::vector<std::string> Report(int rank, Outcome kind, const std::string& text = "") {
    machine.OnOutcome({rank, machine.generation(), kind, text, std::nullopt}, now);
    return Orders();
  }
  std::vector<std::string> Preempted(int rank, std::optional<int> who) {
    machine.OnOutcome({rank, machine.generation(), Outcome::kPreempted, "asked to stop", who}, now);
    return Orders();
  }
  std::vector<std::string> Lose(int rank, const std::string& cause = "lost") {
    machine.OnLost(rank, cause, now);
    return Orders();
  }
  std::vector<std::string> Join(int rank, int64_t held = 0) {
    machine.OnJoined(rank, held, now);
    return Orders();
  }
  std::vector<std::string> Pass(absl::Duration time) {
    now += time;
    machine.OnTime(now);
    return Orders();
  }

  JobGenerations machine;
  absl::Time now = kStart;
};

GenerationPolicy With(v1::JobSpec::OnFailure on_failure) {
  GenerationPolicy policy;
  policy.on_failure = on_failure;
  return policy;
}

TEST(JobGenerationsTest, AJobThatNothingDisturbsHasOneGeneration) {
  Script script(With(v1::JobSpec::WAIT));
  EXPECT_THAT(script.Orders(), ElementsAre("start 1 on 0,1,2"));
  EXPECT_EQ(script.machine.deadline(), absl::InfiniteFuture());
  EXPECT_THAT(script.Report(1, Outcome::kSucceeded), IsEmpty());
  EXPECT_THAT(script.Report(0, Outcome::kSucceeded), IsEmpty());
  EXPECT_THAT(script.Report(2, Outcome::kSucceeded), ElementsAre("end 1 on 0,1,2 SUCCEEDED: "));
  EXPECT_EQ(script.machine.phase(), Phase::kEnded);
  EXPECT_EQ(script.machine.state(), v1::SUCCEEDED);
}

TEST(JobGenerationsTest, WaitsForAllRanksAndThenGivesUp) {
  Script script(With(v1::JobSpec::WAIT), {true, true, false});
  EXPECT_THAT(script.Orders(), IsEmpty());
  EXPECT_EQ(script.machine.deadline(), kStart + absl::Seconds(60));
  EXPECT_THAT(script.Pass(absl::Seconds(59)), IsEmpty());
  EXPECT_THAT(script.Pass(absl::Seconds(1)),
              ElementsAre("end 1 on 0,1 FAILED: rank 2 is missing (waited 1m, --join_timeout)"));
  EXPECT_EQ(script.machine.state(), v1::FAILED);
}

TEST(JobGenerationsTest, AJobThatRanBeforeTheChiefCameBackIsWaitedForAsAfterAFailure) {
  Script script(With(v1::JobSpec::WAIT), {true, true, false}, /*has_run=*/true);
  EXPECT_THAT(script.Pass(absl::Seconds(299)), IsEmpty());
  EXPECT_THAT(script.Pass(absl::Seconds(1)),
              ElementsAre("end 1 on 0,1 FAILED: rank 2 is missing (waited 5m, rejoin_timeout_seconds)"));
}

TEST(JobGenerationsTest, WaitGoesOnWhenTheLostRankIsBack) {
  Script script(With(v1::JobSpec::WAIT));
  script.Orders();
  EXPECT_THAT(script.Lose(2, "rank 2 lost"), ElementsAre("end 1 on 0,1 RUNNING: rank 2 lost"));
  EXPECT_THAT(script.Report(0, Outcome::kGroupFailed, "rank 2 lost, says rank 0"), IsEmpty());
  EXPECT_THAT(script.Join(2), IsEmpty()) << "rank 1 has not let go of generation 1";
  EXPECT_THAT(script.Report(1, Outcome::kGroupFailed), ElementsAre("start 2 on 0,1,2"));
}

TEST(JobGenerationsTest, TheFirstFailureIsTheCause) {
  Script script(With(v1::JobSpec::FAIL));
  script.Orders();
  EXPECT_THAT(script.Report(1, Outcome::kGroupFailed, "rank 2 lost"),
              ElementsAre("end 1 on 0,1,2 FAILED: rank 2 lost"));
  script.Report(0, Outcome::kFailed, "something else");
  EXPECT_THAT(script.Lose(2), IsEmpty());
  EXPECT_EQ(script.machine.phase(), Phase::kEnded);
  EXPECT_EQ(script.machine.state(), v1::FAILED);
  EXPECT_EQ(script.machine.error(), "rank 2 lost");
}

TEST(JobGenerationsTest, AnErrorThatWouldComeAgainEndsTheJobUnderEachPolicy) {
  for (const auto on_failure : {v1::JobSpec::FAIL, v1::JobSpec::WAIT, v1::JobSpec::CONTINUE}) {
    Script script(With(on_failure));
    script.Orders();
    EXPECT_THAT(script.Report(2, Outcome::kFailed, "row 7 is broken"),
                ElementsAre("end 1 on 0,1,2 FAILED: row 7 is broken"));
    script.Report(0, Outcome::kGroupFailed);
    script.Report(1, Outcome::kGroupFailed);
    EXPECT_EQ(script.machine.state(), v1::FAILED);
  }
}

TEST(JobGenerationsTest, ARankThatDoesNotComeBackEndsTheJobWithTheCause) {
  Script script(With(v1::JobSpec::WAIT));
  script.Orders();
  script.Lose(2, "rank 2 lost at step 7");
  script.machine.OnStep();  // news of the generation that is over
  script.Report(0, Outcome::kGroupFailed);
  script.Report(1, Outcome::kGroupFailed);
  script.machine.OnStep();
  EXPECT_EQ(script.machine.deadline(), kStart + absl::Seconds(300));
  EXPECT_THAT(
      script.Pass(absl::Seconds(300)),
      ElementsAre("end 2 on 0,1 FAILED: rank 2 lost at step 7; rank 2 is missing (no step was applied "
                  "for 5m, rejoin_timeout_seconds)"));
}

TEST(JobGenerationsTest, FailuresWithoutAStepBetweenThemShareOneDeadline) {
  Script script(With(v1::JobSpec::WAIT), {true, true});
  script.Orders();
  for (int i = 0; i < 2; ++i) {
    script.Lose(1);
    script.Report(0, Outcome::kGroupFailed);
    script.Pass(absl::Seconds(100));
    EXPECT_EQ(script.machine.deadline(), kStart + absl::Seconds(300)) << i;
    script.Join(1);
  }
  script.Lose(1);
  script.Report(0, Outcome::kGroupFailed);
  script.Pass(absl::Seconds(100));
  EXPECT_EQ(script.machine.state(), v1::FAILED);

  Script stepping(With(v1::JobSpec::WAIT), {true, true});
  stepping.Orders();
  for (int i = 0; i < 5; ++i) {
    stepping.Lose(1);
    stepping.Report(0, Outcome::kGroupFailed);
    stepping.Pass(absl::Seconds(100));
    EXPECT_THAT(stepping.Join(1), ElementsAre(absl::StrCat("start ", i + 2, " on 0,1")));
    stepping.machine.OnStep();
  }
}

TEST(JobGenerationsTest, AGenerationThatLivedLongHasOvercomeWhatFailedBeforeIt) {
  Script script(With(v1::JobSpec::WAIT), {true, true});
  script.Orders();
  script.Lose(1);
  script.Report(0, Outcome::kGroupFailed);
  script.Join(1);
  script.Pass(absl::Seconds(301));
  script.Lose(1);
  script.Report(0, Outcome::kGroupFailed);
  EXPECT_EQ(script.machine.phase(), Phase::kForming);
  EXPECT_EQ(script.machine.deadline(), script.now + absl::Seconds(300));
}

TEST(JobGenerationsTest, AfterACutNobodyIsMissingAndTheNextGenerationPauses) {
  Script script(With(v1::JobSpec::WAIT));
  script.Orders();
  EXPECT_THAT(script.Report(1, Outcome::kGroupFailed, "rank 2 lost, says rank 1"),
              ElementsAre("end 1 on 0,1,2 RUNNING: rank 2 lost, says rank 1"));
  script.Report(0, Outcome::kGroupFailed);
  EXPECT_THAT(script.Report(2, Outcome::kGroupFailed), IsEmpty());
  EXPECT_EQ(script.machine.deadline(), kStart + absl::Seconds(1));
  EXPECT_THAT(script.Pass(absl::Seconds(1)), ElementsAre("start 2 on 0,1,2"));
}

TEST(JobGenerationsTest, ARankThatDoesNotLetGoIsExpelled) {
  Script script(With(v1::JobSpec::WAIT));
  script.Orders();
  script.Lose(2);
  script.Join(2);
  script.Report(0, Outcome::kGroupFailed);
  EXPECT_EQ(script.machine.deadline(), kStart + absl::Seconds(15));
  EXPECT_THAT(script.Pass(absl::Seconds(15)), ElementsAre("expel 1 on 1"));
  EXPECT_THAT(script.Join(1), ElementsAre("start 2 on 0,1,2"));
}

TEST(JobGenerationsTest, WithoutRank0LettingGoThereIsNoNextGeneration) {
  Script script(With(v1::JobSpec::WAIT), {true, true});
  script.Orders();
  script.Lose(1, "rank 1 lost");
  script.Join(1);
  EXPECT_THAT(
      script.Pass(absl::Seconds(15)),
      ElementsAre(
          "end 1 on 0,1 FAILED: rank 1 lost; rank 0 itself has not let go of the generation for 15s"));
}

TEST(JobGenerationsTest, OutcomesOfAnotherGenerationAreIgnored) {
  Script script(With(v1::JobSpec::WAIT));
  script.Orders();
  script.machine.OnOutcome({1, 7, Outcome::kFailed, "late", std::nullopt}, script.now);
  EXPECT_EQ(script.machine.phase(), Phase::kRunning);
}

TEST(JobGenerationsTest, TheNextGenerationIsNewerThanWhatAnyRankHolds) {
  Script script(With(v1::JobSpec::WAIT), {true, false, false}, /*has_run=*/true);
  script.Join(1, 7);
  EXPECT_THAT(script.Join(2, 5), ElementsAre("start 8 on 0,1,2"));
}

TEST(JobGenerationsTest, ALossBehindTheChiefsSuccessChangesNothing) {
  Script script(With(v1::JobSpec::WAIT));
  script.Orders();
  script.Report(0, Outcome::kSucceeded);
  script.Report(1, Outcome::kSucceeded);
  EXPECT_THAT(script.Lose(2), ElementsAre("end 1 on 0,1 SUCCEEDED: "));
}

TEST(JobGenerationsTest, ContinueGoesOnWithTheRanksThatAreLeft) {
  Script script(With(v1::JobSpec::CONTINUE));
  script.Orders();
  script.Lose(2);
  script.Report(0, Outcome::kGroupFailed);
  EXPECT_THAT(script.Report(1, Outcome::kGroupFailed), ElementsAre("start 2 on 0,1"));
  EXPECT_THAT(script.Join(2), ElementsAre("regroup 2 on 2"));
  EXPECT_THAT(script.Report(1, Outcome::kAskedToRegroup), IsEmpty()) << "rank 0 stops by itself";
  EXPECT_THAT(script.Report(0, Outcome::kAskedToRegroup),
              ElementsAre("end 2 on 0,1,2 RUNNING: ", "start 3 on 0,1,2"));
}

TEST(JobGenerationsTest, ContinueStopsBelowMinWorkers) {
  GenerationPolicy policy = With(v1::JobSpec::CONTINUE);
  policy.min_workers = 3;
  Script script(policy);
  script.Orders();
  script.Lose(2, "rank 2 lost");
  script.Report(0, Outcome::kGroupFailed);
  EXPECT_THAT(script.Report(1, Outcome::kGroupFailed), IsEmpty());
  EXPECT_THAT(script.Join(2), ElementsAre("start 2 on 0,1,2"));
}

TEST(JobGenerationsTest, ContinueGivesEverybodyTimeToComeAtFirst) {
  Script script(With(v1::JobSpec::CONTINUE), {true, true, false}, /*has_run=*/true);
  EXPECT_EQ(script.machine.deadline(), kStart + absl::Seconds(60));
  EXPECT_THAT(script.Pass(absl::Seconds(60)), ElementsAre("start 1 on 0,1"));
}

TEST(JobGenerationsTest, ADeathWhileOthersStopInOrderReleasesThem) {
  Script script(With(v1::JobSpec::CONTINUE), {true, true, false});
  script.Pass(absl::Seconds(60));
  script.Join(2);
  EXPECT_THAT(script.Report(0, Outcome::kAskedToRegroup, "rank 2 is back"), IsEmpty());
  EXPECT_THAT(script.Lose(1), ElementsAre("end 1 on 0,2 RUNNING: rank 2 is back", "start 2 on 0,2"));
}

TEST(JobGenerationsTest, APreemptedJobEndsSo) {
  Script script(With(v1::JobSpec::WAIT), {true, true});
  script.Orders();
  EXPECT_THAT(script.Preempted(1, 1), IsEmpty());
  EXPECT_THAT(script.Preempted(0, 1), ElementsAre("end 1 on 0,1 PREEMPTED: asked to stop"));
  EXPECT_EQ(script.machine.state(), v1::PREEMPTED);
}

TEST(JobGenerationsTest, ContinueLetsAPreemptedRankGoAlone) {
  Script script(With(v1::JobSpec::CONTINUE));
  script.Orders();
  script.Preempted(0, 1);
  script.Preempted(1, 1);
  EXPECT_THAT(script.Preempted(2, 1), ElementsAre("end 1 on 0,2 RUNNING: asked to stop", "start 2 on 0,2"));

  Script chief(With(v1::JobSpec::CONTINUE), {true, true});
  chief.Orders();
  chief.Preempted(1, 0);
  EXPECT_THAT(chief.Preempted(0, 0), ElementsAre("end 1 on 0,1 PREEMPTED: asked to stop"));
}

TEST(JobGenerationsTest, StopEndsTheJobInEachPhase) {
  Script forming(With(v1::JobSpec::WAIT), {true, false});
  forming.machine.Stop(v1::CANCELLED, "cancelled", forming.now);
  EXPECT_EQ(forming.machine.state(), v1::CANCELLED);

  Script running(With(v1::JobSpec::WAIT), {true, true});
  running.Orders();
  running.machine.Stop(v1::CANCELLED, "cancelled", running.now);
  EXPECT_THAT(running.Orders(), ElementsAre("end 1 on 0,1 CANCELLED: cancelled"));
  running.Report(0, Outcome::kGroupFailed);
  EXPECT_EQ(running.machine.phase(), Phase::kEnding);
  running.Report(1, Outcome::kGroupFailed);
  EXPECT_EQ(running.machine.state(), v1::CANCELLED);

  Script ending(With(v1::JobSpec::WAIT), {true, true});
  ending.Orders();
  ending.Lose(1);
  ending.machine.Stop(v1::CANCELLED, "cancelled", ending.now);
  ending.Report(0, Outcome::kGroupFailed);
  EXPECT_EQ(ending.machine.state(), v1::CANCELLED);
  EXPECT_EQ(ending.machine.error(), "cancelled");
}

// The ranks of a cluster, as they would obey the orders, with faults at any moment.
class RandomWalk {
 public:
  RandomWalk(uint64_t seed, v1::JobSpec::OnFailure on_failure)
      : random_(seed),
        ranks_(2 + random_() % 4),
        machine_(
            With(on_failure), std::vector<bool>(ranks_.size(), true), 1, false,
            [] { return "some are missing"; }, kStart) {}

  void Run() {
    for (int i = 0; i < 2000 && machine_.phase() != Phase::kEnded; ++i) {
      Obey();
      Check();
      if (machine_.phase() != Phase::kEnded) Happen();
    }
    // Then nothing disturbs it any more: it must come to an end by itself.
    for (int i = 0; i < 200 && machine_.phase() != Phase::kEnded; ++i) {
      Obey();
      Check();
      Settle();
    }
    Obey();
    EXPECT_EQ(machine_.phase(), Phase::kEnded);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const bool released = ranks_[r].generation == 0 || told_.count(static_cast<int>(r)) > 0;
      EXPECT_TRUE(released) << "rank " << r << " runs on\n" << Log();
    }
  }

 private:
  struct Rank {
    bool joined = true;
    int64_t generation = 0;  // that it runs; 0: none
    int64_t held = 0;
  };

  void Obey() {
    for (const GenerationOrder& order : machine_.TakeOrders()) {
      log_.push_back(ToText(order));
      for (const int r : order.ranks) {
        Rank& rank = ranks_[r];
        switch (order.kind) {
          case GenerationOrder::Kind::kStart:
            ASSERT_GT(order.generation, rank.held) << Log();
            ASSERT_EQ(rank.generation, 0) << "two generations live\n" << Log();
            rank.generation = rank.held = order.generation;
            break;
          case GenerationOrder::Kind::kEnd:
            if (rank.generation == order.generation) told_.insert(r);
            break;
          case GenerationOrder::Kind::kExpel:
            rank.joined = false;
            rank.generation = 0;
            break;
          case GenerationOrder::Kind::kAskToRegroup:
            regroup_ = order.generation;
        }
      }
    }
  }

  void Check() {
    const bool waits = machine_.phase() == Phase::kForming || machine_.phase() == Phase::kEnding;
    ASSERT_TRUE(!waits || machine_.deadline() < now_ + absl::Hours(1)) << "a wait without an end\n" << Log();
    std::set<int64_t> live;
    for (const Rank& rank : ranks_)
      if (rank.generation > 0) live.insert(rank.generation);
    ASSERT_LE(live.size(), 1u) << "two generations live\n" << Log();
  }

  void Report(int rank, Outcome kind) {
    const int64_t generation = std::exchange(ranks_[rank].generation, 0);
    told_.erase(rank);
    log_.push_back(absl::StrCat("rank ", rank, " reports ", static_cast<int>(kind)));
    machine_.OnOutcome({rank, generation, kind, absl::StrCat("told by ", rank), std::nullopt}, now_);
  }

  // Whoever was told to end does so; missing ranks come; else time passes.
  void Settle() {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const int rank = static_cast<int>(r);
      if (!ranks_[r].joined) return Join(rank);
      if (told_.count(rank) > 0) return Report(rank, Outcome::kGroupFailed);
    }
    for (size_t r = 0; r < ranks_.size(); ++r)
      if (ranks_[r].generation > 0) return Report(static_cast<int>(r), Outcome::kSucceeded);
    Pass(absl::Seconds(20));
  }

  void Join(int rank) {
    log_.push_back(absl::StrCat("rank ", rank, " joins"));
    ranks_[rank].joined = true;
    machine_.OnJoined(rank, ranks_[rank].held, now_);
  }

  void Pass(absl::Duration time) {
    now_ += time;
    machine_.OnTime(now_);
  }

  void Happen() {
    const int rank = static_cast<int>(random_() % ranks_.size());
    Rank& that = ranks_[rank];
    switch (random_() % 8) {
      case 0:
        if (rank == 0 || !that.joined) return;
        log_.push_back(absl::StrCat("rank ", rank, " dies"));
        that.joined = false;
        that.generation = 0;
        told_.erase(rank);
        machine_.OnLost(rank, "died", now_);
        return;
      case 1:
      case 2:
        if (!that.joined) Join(rank);
        return;
      case 3:
      case 4:
        if (told_.count(rank) > 0) Report(rank, Outcome::kGroupFailed);
        return;
      case 5:
        // It sees the loss of a peer before the chief does.
        if (that.generation > 0 && random_() % 8 == 0) Report(rank, Outcome::kGroupFailed);
        return;
      case 6:
        if (that.generation > 0 && regroup_ == that.generation) Report(rank, Outcome::kAskedToRegroup);
        return;
      default:
        if (machine_.phase() == Phase::kRunning) machine_.OnStep();
        Pass(absl::Milliseconds(random_() % 4000));
    }
  }

  std::string Log() const { return absl::StrJoin(log_, "\n"); }

  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  JobGenerations machine_;
  absl::Time now_ = kStart;
  std::set<int> told_;
  int64_t regroup_ = 0;
  std::vector<std::string> log_;
};

TEST(JobGenerationsTest, RandomWalksKeepWhatAlwaysHolds) {
  for (const auto on_failure : {v1::JobSpec::FAIL, v1::JobSpec::WAIT, v1::JobSpec::CONTINUE}) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
      SCOPED_TRACE(absl::StrCat(v1::JobSpec::OnFailure_Name(on_failure), " with seed ", seed));
      RandomWalk(seed, on_failure).Run();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace lockstep

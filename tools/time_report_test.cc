#include "tools/time_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trainer.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Seconds {
  double input, compute, exposed;
};

v1::JobSummary MakeSummary(const std::vector<Seconds>& ranks) {
  v1::JobSummary summary;
  for (const Seconds& seconds : ranks) {
    v1::RankStats* rank = summary.add_ranks();
    rank->set_rank(summary.ranks_size() - 1);
    rank->set_address("node:5300");
    rank->set_input_seconds(seconds.input);
    rank->set_compute_seconds(seconds.compute);
    rank->set_exposed_communication_seconds(seconds.exposed);
    rank->set_rows(100);
  }
  return summary;
}

TEST(TimeReportTest, HasALinePerRankAndTheVerdict) {
  EXPECT_EQ(TimeReport(MakeSummary({{0.25, 9.5, 0.25}, {0.5, 9.25, 0.25}})),
            "rank  address    input s  compute s  exposed communication s  rows/s\n"
            "   0  node:5300     0.25       9.50                     0.25      10\n"
            "   1  node:5300     0.50       9.25                     0.25      10\n"
            "Computation is what takes the time: input (5 %) and communication (3 %) keep up.\n");
}

TEST(TimeReportTest, IsEmptyWithoutRanks) { EXPECT_EQ(TimeReport({}), ""); }

TEST(VerdictTest, NamesTheRankThatWaitsForInput) {
  // Rank 0 waits for rank 1, but only because rank 1 waits for its rows.
  EXPECT_THAT(Verdict(MakeSummary({{0, 5, 5}, {5, 5, 0}})),
              StartsWith("Input is the bottleneck: rank 1 waited 50 %"));
}

TEST(VerdictTest, TellsCommunicationFromWaitingForASlowRank) {
  EXPECT_THAT(Verdict(MakeSummary({{0, 6, 4}, {0, 7, 3}})),
              StartsWith("Communication limits scaling: every rank waited 30 %"));
  EXPECT_THAT(Verdict(MakeSummary({{0, 6, 4}, {0, 9.5, 0.5}})),
              StartsWith("Rank 1 (node:5300) is the slowest: rank 0 waited 40 %"));
}

TEST(VerdictTest, InputWinsOverCommunicationOnlyIfItCostsMore) {
  EXPECT_THAT(Verdict(MakeSummary({{2, 5, 3}})), HasSubstr("Communication limits scaling"));
  EXPECT_THAT(Verdict(MakeSummary({{3, 5, 2}})), HasSubstr("Input is the bottleneck"));
}

TEST(VerdictTest, DoesNotJudgeAMomentOrNothing) {
  EXPECT_THAT(Verdict(MakeSummary({{0.5, 0.2, 0}})), HasSubstr("too short"));
  EXPECT_THAT(Verdict(MakeSummary({{0, 0, 0}})), HasSubstr("too short"));
}

}  // namespace
}  // namespace lockstep

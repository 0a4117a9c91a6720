#include "worker/membership.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kTimeout = absl::Seconds(10);

v1::Identity Process(int rank, uint64_t incarnation) {
  v1::Identity identity;
  identity.set_rank(rank);
  identity.set_world_size(3);
  identity.set_cluster_hash(42);
  identity.set_build_id("build-a");
  identity.set_wire_version(1);
  identity.set_incarnation(incarnation);
  identity.set_pid(static_cast<int64_t>(100 + incarnation));
  identity.set_address(absl::StrCat("127.0.0.1:", 5300 + rank));
  identity.set_hostname("host-a");
  return identity;
}

Membership ThreeRanks() { return Membership({"c:5300", "w0:5301", "w1:5302"}, Process(0, 7), kTimeout); }

TEST(MembershipTest, IsCompleteOnceEveryRankHasJoined) {
  Membership membership = ThreeRanks();
  EXPECT_THAT(membership.Missing(), ElementsAre(1, 2));
  ASSERT_OK(membership.Join(Process(2, 1), kStart));
  EXPECT_FALSE(membership.complete());
  ASSERT_OK(membership.Join(Process(1, 2), kStart));
  EXPECT_TRUE(membership.complete());
  EXPECT_EQ(membership.DescribeMissing(), "");
}

TEST(MembershipTest, AClusterOfOneIsComplete) {
  EXPECT_TRUE(Membership({"c:5300"}, Process(0, 7), kTimeout).complete());
}

TEST(MembershipTest, ADifferentClusterSpecIsRefusedWithBothSizes) {
  Membership membership = ThreeRanks();
  v1::Identity other = Process(1, 1);
  other.set_cluster_hash(43);
  other.set_world_size(2);
  EXPECT_THAT(membership.Join(other, kStart),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("cluster spec"), HasSubstr("2 ranks"), HasSubstr("3 ranks"))));
  EXPECT_THAT(membership.DescribeMissing(),
              HasSubstr("rank 1 (w0:5301) did not join: refused: cluster spec"));
}

TEST(MembershipTest, ADifferentBuildOrWireVersionIsRefused) {
  Membership membership = ThreeRanks();
  v1::Identity other = Process(1, 1);
  other.set_build_id("build-b");
  EXPECT_THAT(membership.Join(other, kStart),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("build-b")));
  other = Process(1, 1);
  other.set_wire_version(2);
  EXPECT_THAT(membership.Join(other, kStart),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("wire version 2")));
}

TEST(MembershipTest, RanksWithAndWithoutAJobOfTheirOwnDoNotMix) {
  Membership membership = ThreeRanks();
  v1::Identity other = Process(1, 1);
  other.set_has_own_job(true);
  EXPECT_THAT(membership.Join(other, kStart),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("--job"), HasSubstr("takes submitted jobs"))));
}

TEST(MembershipTest, A04Rank0ClaimedTwiceNamesBothProcesses) {
  Membership membership = ThreeRanks();
  EXPECT_THAT(
      membership.Join(Process(0, 3), kStart),
      StatusIs(absl::StatusCode::kAlreadyExists, AllOf(HasSubstr("rank 0 is claimed by two processes"),
                                                       HasSubstr("pid 107"), HasSubstr("pid 103"))));
}

TEST(MembershipTest, OfTwoProcessesWithOneRankTheNewerOneHasItForEver) {
  Membership membership = ThreeRanks();
  ASSERT_OK_AND_ASSIGN(std::optional<v1::Identity> before, membership.Join(Process(1, 1), kStart));
  EXPECT_FALSE(before.has_value());
  ASSERT_OK_AND_ASSIGN(before, membership.Join(Process(1, 2), kStart));
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->incarnation(), 1);
  const auto refused = StatusIs(
      absl::StatusCode::kAlreadyExists,
      AllOf(HasSubstr("superseded: rank 1 has been taken over by pid 102"), HasSubstr("from pid 101")));
  EXPECT_THAT(membership.Join(Process(1, 1), kStart), refused);
  // Also while the newer one is away.
  EXPECT_TRUE(membership.Leave(1, 2, "connection closed"));
  EXPECT_THAT(membership.Join(Process(1, 1), kStart), refused);
}

TEST(MembershipTest, AProcessThatLostItsConnectionJoinsAgain) {
  Membership membership = ThreeRanks();
  ASSERT_OK(membership.Join(Process(1, 1), kStart));
  EXPECT_TRUE(membership.Leave(1, 1, "connection closed"));
  ASSERT_OK_AND_ASSIGN(const std::optional<v1::Identity> before, membership.Join(Process(1, 1), kStart));
  EXPECT_FALSE(before.has_value());
}

TEST(MembershipTest, A04AProbeThatMeetsASecondChiefSaysSo) {
  Membership membership = ThreeRanks();
  membership.ProbeAnswered(1, Process(0, 99));
  EXPECT_THAT(membership.DescribeMissing(),
              AllOf(HasSubstr("rank 1 (w0:5301) did not join: rank 0 is claimed by two processes"),
                    HasSubstr("pid 107"), HasSubstr("pid 199")));
}

TEST(MembershipTest, A04AProbeThatMeetsASecondChiefAtTheChiefsAddressSaysSoUntilItIsGone) {
  Membership membership = ThreeRanks();
  membership.ProbeAnswered(0, Process(0, 7));
  EXPECT_THAT(membership.DescribeMissing(), Not(HasSubstr("two processes")));
  membership.ProbeAnswered(0, Process(0, 99));
  EXPECT_THAT(membership.DescribeMissing(), AllOf(HasSubstr("rank 1 (w0:5301) did not join"),
                                                  HasSubstr("rank 0 is claimed by two processes"),
                                                  HasSubstr("pid 107"), HasSubstr("pid 199")));
  membership.ProbeFailed(0, "connection refused");
  EXPECT_THAT(membership.DescribeMissing(), Not(HasSubstr("two processes")));
}

TEST(MembershipTest, AProbesErrorIsTheReasonWhyARankIsMissing) {
  Membership membership = ThreeRanks();
  membership.ProbeFailed(2, "connection refused");
  EXPECT_THAT(membership.DescribeMissing(), HasSubstr("rank 2 (w1:5302) did not join: connection refused"));
}

TEST(MembershipTest, ASilentMemberIsLostAfterTheTimeoutAndNotBefore) {
  Membership membership = ThreeRanks();
  ASSERT_OK(membership.Join(Process(1, 1), kStart));
  ASSERT_OK(membership.Join(Process(2, 2), kStart));
  membership.Heartbeat(2, 2, kStart + absl::Seconds(5));
  EXPECT_THAT(membership.Expire(kStart + kTimeout - absl::Milliseconds(1)), IsEmpty());
  const std::vector<LostMember> lost = membership.Expire(kStart + kTimeout);
  ASSERT_EQ(lost.size(), 1);
  EXPECT_EQ(lost[0].rank, 1);
  EXPECT_THAT(lost[0].why, HasSubstr("no heartbeat for 10s"));
  EXPECT_THAT(membership.Missing(), ElementsAre(1));
}

TEST(MembershipTest, NewsOfAnEarlierLifeIsIgnored) {
  Membership membership = ThreeRanks();
  ASSERT_OK(membership.Join(Process(1, 1), kStart));
  EXPECT_TRUE(membership.Leave(1, 1, "connection closed"));
  ASSERT_OK(membership.Join(Process(1, 2), kStart + absl::Seconds(1)));
  EXPECT_FALSE(membership.Leave(1, 1, "connection closed"));
  membership.Heartbeat(1, 1, kStart + absl::Seconds(100));
  EXPECT_EQ(membership.Expire(kStart + absl::Seconds(11)).size(), 1);
}

TEST(MembershipTest, ARankOutsideTheClusterIsRefused) {
  EXPECT_THAT(ThreeRanks().Join(Process(3, 1), kStart),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 3 is outside [0, 3)")));
}

}  // namespace
}  // namespace lockstep

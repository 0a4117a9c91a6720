#include "worker/agreement.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "collective/run_on_ranks.h"
#include "collective/transport/in_process_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void OnRanks(int world_size, const std::function<void(Communicator*)>& function) {
  RunOnRanks(MakeInProcessGroup(world_size), CommunicatorOptions(), function);
}

TEST(AgreementTest, EqualFingerprintsAgree) {
  OnRanks(3, [](Communicator* communicator) {
    EXPECT_OK(CheckFingerprints(communicator, {{"the model", "abc"}, {"rows", "10"}}));
  });
}

TEST(AgreementTest, TheFirstDifferenceIsNamedAlikeOnAllRanks) {
  OnRanks(3, [](Communicator* communicator) {
    const std::string rows = communicator->rank() == 2 ? "11" : "10";
    EXPECT_THAT(CheckFingerprints(communicator, {{"the model", "abc"}, {"rows", rows}}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("rows differs between ranks: rank 0 has 10, rank 2 has 11")));
  });
}

TEST(AgreementTest, RanksOfDifferentKindsDisagree) {
  OnRanks(2, [](Communicator* communicator) {
    const Fingerprint mine =
        communicator->rank() == 0 ? Fingerprint{{"a", "1"}} : Fingerprint{{"a", "1"}, {"b", "2"}};
    EXPECT_THAT(CheckFingerprints(communicator, mine),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("rank 1")));
  });
}

TEST(AgreementTest, EqualHashesAgree) {
  OnRanks(4, [](Communicator* communicator) { EXPECT_OK(CheckHashes(communicator, 7, "parameters", 3)); });
}

TEST(AgreementTest, TheDeviatingRankIsNamedEvenIfItIsTheChief) {
  for (const int deviating : {0, 2}) {
    OnRanks(3, [deviating](Communicator* communicator) {
      const uint64_t hash = communicator->rank() == deviating ? 8 : 7;
      EXPECT_THAT(CheckHashes(communicator, hash, "parameters", 3),
                  StatusIs(absl::StatusCode::kInternal,
                           AllOf(HasSubstr("parameters differ between ranks after step 3"),
                                 HasSubstr("rank " + std::to_string(deviating) + " has 0000000000000008"),
                                 HasSubstr("the others have 0000000000000007"))));
    });
  }
}

TEST(AgreementTest, RanksOfOneProcessShareTheHost) {
  OnRanks(3, [](Communicator* communicator) {
    ASSERT_OK_AND_ASSIGN(const int ranks, RanksOnThisHost(communicator));
    EXPECT_EQ(ranks, 3);
  });
}

TEST(AgreementTest, RankZerosStringArrivesEverywhere) {
  OnRanks(3, [](Communicator* communicator) {
    ASSERT_OK_AND_ASSIGN(
        const std::string got,
        BroadcastString(communicator, communicator->rank() == 0 ? "from the chief" : "ignored"));
    EXPECT_EQ(got, "from the chief");
  });
}

}  // namespace
}  // namespace lockstep

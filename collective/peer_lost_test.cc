#include "collective/peer_lost.h"

#include "base/status_matchers.h"

namespace lockstep {
namespace {

TEST(PeerLostTest, NamesRankAddressAndDetail) {
  EXPECT_THAT(MakePeerLostStatus(2, "127.0.0.1:5303", "Socket closed"),
              StatusIs(absl::StatusCode::kUnavailable, "rank 2 (127.0.0.1:5303) lost: Socket closed"));
}

TEST(PeerLostTest, TheRankCanBeReadBackAndOtherStatusHasNone) {
  EXPECT_EQ(LostRank(MakePeerLostStatus(11, "a:1", "x")), 11);
  EXPECT_EQ(LostRank(absl::UnavailableError("rank 2 lost")), std::nullopt);
  EXPECT_EQ(LostRank(absl::OkStatus()), std::nullopt);
}

TEST(PeerLostTest, ContextKeepsCodeAndRank) {
  const absl::Status status = WithContext(MakePeerLostStatus(1, "a:1", "x"), "all-reduce 7");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "rank 1 (a:1) lost: x (all-reduce 7)"));
  EXPECT_EQ(LostRank(status), 1);
  EXPECT_OK(WithContext(absl::OkStatus(), "anything"));
}

}  // namespace
}  // namespace lockstep

#include "collective/transport/subset_transport.h"

#include <memory>
#include <vector>

#include "base/status_matchers.h"
#include "collective/transport/in_process_transport.h"
#include "gmock/gmock.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class SubsetTransportTest : public ::testing::Test {
 protected:
  // Sends one float over `from` to peer `to`, and receives it over `at` from peer `source`.
  static float SendOne(Transport* from, int to, Transport* at, int source, uint64_t tag, float value) {
    const std::vector<float> sent = {value};
    std::vector<float> received(1);
    Completion send, receive;
    at->Receive(source, tag, ReceiveMode::kOverwrite, {{}, absl::MakeSpan(received), {}}, &receive);
    from->Send(to, tag, {{}, sent, {}}, &send);
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    EXPECT_TRUE(at->Wait(&receive, deadline, Waiting::kAsleep));
    EXPECT_TRUE(from->Wait(&send, deadline, Waiting::kAsleep));
    EXPECT_OK(receive.status());
    EXPECT_OK(send.status());
    return received[0];
  }

  std::vector<std::unique_ptr<Transport>> whole_ = MakeInProcessGroup(5);
  // Not in the order of the whole.
  std::unique_ptr<Transport> at_3_ = MakeSubsetTransport(whole_[3].get(), {4, 1, 3}, 1);
  std::unique_ptr<Transport> at_4_ = MakeSubsetTransport(whole_[4].get(), {4, 1, 3}, 1);
};

TEST_F(SubsetTransportTest, RanksKnowTheirPlaceInBothGroups) {
  EXPECT_EQ(at_3_->rank(), 2);
  EXPECT_EQ(at_4_->rank(), 0);
  EXPECT_EQ(at_3_->world_size(), 3);
  EXPECT_EQ(at_3_->OriginalRank(0), 4);
  const std::unique_ptr<Transport> nested = MakeSubsetTransport(at_3_.get(), {2, 1}, 2);
  EXPECT_EQ(nested->rank(), 0);
  EXPECT_EQ(nested->OriginalRank(1), 1);
}

TEST_F(SubsetTransportTest, MessagesGoToTheRanksOfTheSubset) {
  EXPECT_EQ(SendOne(at_3_.get(), 0, at_4_.get(), 2, 7, 1.5f), 1.5f);
  EXPECT_EQ(SendOne(at_4_.get(), 2, at_3_.get(), 0, 7, 2.5f), 2.5f);
}

TEST_F(SubsetTransportTest, EqualTagsOfWholeAndSubsetsAreDifferentMessages) {
  const std::unique_ptr<Transport> other_3 = MakeSubsetTransport(whole_[3].get(), {3, 4}, 2);
  const std::unique_ptr<Transport> other_4 = MakeSubsetTransport(whole_[4].get(), {3, 4}, 2);
  std::vector<float> received(3);
  Completion receives[3], sends[3];
  const auto receive = [&](Transport* at, int peer, int i) {
    at->Receive(peer, 7, ReceiveMode::kOverwrite, {{}, absl::MakeSpan(received).subspan(i, 1), {}},
                &receives[i]);
  };
  receive(whole_[4].get(), 3, 0);
  receive(at_4_.get(), 2, 1);
  receive(other_4.get(), 0, 2);
  const std::vector<float> values = {10, 11, 12};
  const auto send = [&](Transport* from, int peer, int i) {
    from->Send(peer, 7, {{}, absl::MakeSpan(values).subspan(i, 1), {}}, &sends[i]);
  };
  send(other_3.get(), 1, 2);
  send(at_3_.get(), 0, 1);
  send(whole_[3].get(), 4, 0);
  for (Completion& completion : receives) {
    EXPECT_TRUE(completion.Wait(absl::Now() + absl::Seconds(60)));
    EXPECT_OK(completion.status());
  }
  EXPECT_EQ(received, values);
}

TEST_F(SubsetTransportTest, RefusesPeersOutsideOfTheSubset) {
  for (const int peer : {-1, 2, 3, 4}) {
    Completion send, receive;
    at_3_->Send(peer, 1, {}, &send);
    EXPECT_THAT(send.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("group of 3"))) << peer;
    at_3_->Receive(peer, 1, ReceiveMode::kOverwrite, {}, &receive);
    EXPECT_THAT(receive.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("group of 3")))
        << peer;
  }
  EXPECT_OK(at_3_->status());
}

TEST_F(SubsetTransportTest, EndsWithTheWhole) {
  at_3_->Abort(absl::CancelledError("enough"));
  EXPECT_THAT(whole_[3]->status(), StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_EQ(at_3_->status(), whole_[3]->status());
}

}  // namespace
}  // namespace lockstep

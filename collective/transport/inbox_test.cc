#include "collective/transport/inbox.h"

#include <string>

#include "base/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class InboxTest : public ::testing::Test {
 protected:
  static FramePayload Payload(const std::string& text) {
    auto owner = std::make_shared<const std::string>(text);
    FramePayload payload;
    payload.runs.emplace_back(*owner);
    payload.size_bytes = text.size();
    payload.owner = owner;
    return payload;
  }
  static ReceiveParts Parts(std::string* text) {
    return {{}, {}, absl::MakeSpan(reinterpret_cast<std::byte*>(text->data()), text->size())};
  }
  absl::Status Post(uint64_t tag, std::string* text, Completion* completion) {
    return inbox_.Post(tag, ReceiveMode::kOverwrite, Parts(text), completion);
  }
  void Consume(uint64_t tag) {
    while (Inbox::PostedReceive* receive = inbox_.BeginConsume(tag)) {
      receive->ConsumeTaken();
      inbox_.EndConsume(tag);
    }
  }
  static bool IsDone(Completion* completion) { return completion->Wait(absl::InfinitePast()); }

  Inbox inbox_{2, "10.0.0.1:5303", /*max_unexpected_frames=*/3, /*max_unexpected_bytes=*/100};
  std::string text_ = "......";
  Completion completion_;
};

TEST_F(InboxTest, FramesOfAPostedReceiveAreConsumedAsTheyCome) {
  ASSERT_OK(Post(7, &text_, &completion_));
  ASSERT_OK(inbox_.OnFrame({7, 6, 0}, Payload("abcd")));
  Consume(7);
  EXPECT_EQ(text_, "abcd..");
  EXPECT_FALSE(IsDone(&completion_));
  ASSERT_OK(inbox_.OnFrame({7, 6, 4}, Payload("ef")));
  Consume(7);
  EXPECT_TRUE(IsDone(&completion_));
  EXPECT_OK(completion_.status());
  EXPECT_EQ(text_, "abcdef");
  EXPECT_FALSE(inbox_.HasReceives());
}

TEST_F(InboxTest, AReceiveMayComeInTheMiddleOfItsMessage) {
  ASSERT_OK(inbox_.OnFrame({7, 6, 0}, Payload("abcd")));
  ASSERT_OK(Post(7, &text_, &completion_));
  EXPECT_TRUE(inbox_.AwaitsFrames());
  ASSERT_OK(inbox_.OnFrame({7, 6, 4}, Payload("ef")));
  EXPECT_FALSE(inbox_.AwaitsFrames());
  Consume(7);
  EXPECT_TRUE(IsDone(&completion_));
  EXPECT_EQ(text_, "abcdef");
}

TEST_F(InboxTest, OnlyOneThreadConsumesAReceive) {
  ASSERT_OK(Post(7, &text_, &completion_));
  ASSERT_OK(inbox_.OnFrame({7, 6, 0}, Payload("abcd")));
  Inbox::PostedReceive* receive = inbox_.BeginConsume(7);
  ASSERT_NE(receive, nullptr);
  ASSERT_OK(inbox_.OnFrame({7, 6, 4}, Payload("ef")));
  EXPECT_EQ(inbox_.BeginConsume(7), nullptr);
  receive->ConsumeTaken();
  inbox_.EndConsume(7);
  EXPECT_FALSE(IsDone(&completion_));
  Consume(7);
  EXPECT_TRUE(IsDone(&completion_));
  EXPECT_EQ(text_, "abcdef");
}

TEST_F(InboxTest, FailureWaitsForTheThreadThatConsumes) {
  ASSERT_OK(Post(7, &text_, &completion_));
  ASSERT_OK(inbox_.OnFrame({7, 6, 0}, Payload("abcdef")));
  Inbox::PostedReceive* receive = inbox_.BeginConsume(7);
  inbox_.Fail(absl::CancelledError("enough"));
  EXPECT_FALSE(IsDone(&completion_));
  receive->ConsumeTaken();
  inbox_.EndConsume(7);
  EXPECT_TRUE(IsDone(&completion_));
  EXPECT_THAT(completion_.status(), StatusIs(absl::StatusCode::kCancelled, "enough"));
}

TEST_F(InboxTest, FailureEndsReceivesThatWait) {
  ASSERT_OK(Post(7, &text_, &completion_));
  inbox_.Fail(absl::CancelledError("enough"));
  EXPECT_TRUE(IsDone(&completion_));
  EXPECT_FALSE(inbox_.HasReceives());
}

TEST_F(InboxTest, UnexpectedFramesFillItUntilTheyAreWanted) {
  for (uint64_t tag = 0; tag < 3; ++tag) ASSERT_OK(inbox_.OnFrame({tag, 1, 0}, Payload("x")));
  EXPECT_FALSE(inbox_.full());
  ASSERT_OK(inbox_.OnFrame({3, 1, 0}, Payload("x")));
  EXPECT_TRUE(inbox_.full());
  std::string text(1, '.');
  ASSERT_OK(Post(1, &text, &completion_));
  EXPECT_FALSE(inbox_.full());
  ASSERT_OK(inbox_.OnFrame({9, 200, 0}, Payload(std::string(101, 'x'))));
  EXPECT_TRUE(inbox_.full());
}

TEST_F(InboxTest, AnotherLengthIsRefusedBeforeAnythingIsStored) {
  ASSERT_OK(Post(7, &text_, &completion_));
  EXPECT_THAT(inbox_.OnFrame({7, 5, 0}, Payload("abcde")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2 (10.0.0.1:5303) sent 5 bytes")));
  EXPECT_EQ(text_, "......");
  ASSERT_OK(inbox_.OnFrame({8, 2, 0}, Payload("ab")));
  Completion other;
  EXPECT_THAT(Post(8, &text_, &other), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("where 6")));
}

TEST_F(InboxTest, FramesThatDoNotContinueTheirMessageAreRefused) {
  const auto damaged = StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is due"));
  EXPECT_THAT(Inbox(2, "a:1", 3, 100).OnFrame({7, 6, 1}, Payload("a")), damaged);   // starts late
  EXPECT_THAT(Inbox(2, "a:1", 3, 100).OnFrame({7, 1, 0}, Payload("ab")), damaged);  // too long
  EXPECT_THAT(Inbox(2, "a:1", 3, 100).OnFrame({7, 6, 0}, Payload("")), damaged);    // would never end
  ASSERT_OK(inbox_.OnFrame({7, 6, 0}, Payload("abc")));
  EXPECT_THAT(inbox_.OnFrame({8, 6, 0}, Payload("a")), damaged);                // another message between
  EXPECT_THAT(inbox_.OnFrame({7, 6, 2}, Payload("c")), damaged);                // twice
  EXPECT_THAT(inbox_.OnFrame({7, 6, 4}, Payload("e")), damaged);                // a gap
  EXPECT_THAT(inbox_.OnFrame({7, 6, ~uint64_t{0}}, Payload("abcd")), damaged);  // overflow
  EXPECT_THAT(inbox_.OnFrame({7, 9, 3}, Payload("d")), damaged);                // another length
}

TEST_F(InboxTest, ATagThatComesTwiceIsRefused) {
  const auto twice = StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("twice"));
  ASSERT_OK(inbox_.OnFrame({7, 1, 0}, Payload("a")));
  EXPECT_THAT(inbox_.OnFrame({7, 1, 0}, Payload("a")), twice);
}

TEST_F(InboxTest, ATagThatIsPostedTwiceIsRefused) {
  ASSERT_OK(Post(7, &text_, &completion_));
  Completion other;
  EXPECT_THAT(Post(7, &text_, &other), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("under way")));
}

}  // namespace
}  // namespace lockstep

// What every transport must do. A test instantiates the suite with a type that makes groups:
//
//   struct MyGroups { std::vector<std::unique_ptr<Transport>> Make(int world_size); };
//   INSTANTIATE_TYPED_TEST_SUITE_P(My, TransportConformanceTest, MyGroups);
//
// Element r of what Make returns is the transport of rank r; all are connected.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_CONFORMANCE_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_CONFORMANCE_H_

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/status_matchers.h"
#include "collective/peer_lost.h"
#include "collective/transport/transport.h"

namespace lockstep {

template <typename Groups>
class TransportConformanceTest : public ::testing::Test {
 protected:
  // Nothing here should take long; a wait that reaches this end fails the test.
  static constexpr absl::Duration kPatience = absl::Seconds(30);

  static SendParts Bytes(absl::string_view text) {
    SendParts parts;
    parts.bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
    return parts;
  }
  static ReceiveParts Bytes(std::string* text) {
    ReceiveParts parts;
    parts.bytes = absl::MakeSpan(reinterpret_cast<std::byte*>(text->data()), text->size());
    return parts;
  }
  // Waits for the end of an operation.
  static absl::Status End(Completion* completion) {
    if (!completion->Wait(absl::Now() + kPatience)) return absl::InternalError("operation did not end");
    return completion->status();
  }
  // A text whose every position shows where it belongs.
  static std::string Pattern(size_t size, int seed) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 31 + i / 251 + seed) & 0xff);
    return text;
  }

  void MakeGroup(int world_size) {
    group_.clear();
    group_ = groups_.Make(world_size);
    ASSERT_EQ(group_.size(), static_cast<size_t>(world_size));
  }

  Groups groups_;
  std::vector<std::unique_ptr<Transport>> group_;
};

TYPED_TEST_SUITE_P(TransportConformanceTest);

TYPED_TEST_P(TransportConformanceTest, RanksKnowTheirPlace) {
  this->MakeGroup(3);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(this->group_[rank]->rank(), rank);
    EXPECT_EQ(this->group_[rank]->world_size(), 3);
    EXPECT_OK(this->group_[rank]->status());
  }
}

TYPED_TEST_P(TransportConformanceTest, AGroupOfOneRankIsPossible) {
  this->MakeGroup(1);
  EXPECT_EQ(this->group_[0]->world_size(), 1);
  EXPECT_OK(this->group_[0]->status());
}

TYPED_TEST_P(TransportConformanceTest, A09MessagesOfAnySizeArriveUnchanged) {
  this->MakeGroup(2);
  uint64_t tag = 1;
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{3}, size_t{4096}, size_t{4097}, (size_t{1} << 20) - 1, size_t{1} << 20,
        (size_t{1} << 20) + 1, size_t{4194304}, size_t{4198400}, size_t{9999999}}) {
    const std::string sent = this->Pattern(size, 1);
    std::string received(size, 'x');
    Completion send, receive;
    this->group_[1]->Receive(0, tag, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
    this->group_[0]->Send(1, tag, this->Bytes(absl::string_view(sent)), &send);
    EXPECT_OK(this->End(&receive));
    EXPECT_OK(this->End(&send));
    EXPECT_TRUE(received == sent) << size;
    ++tag;
  }
}

TYPED_TEST_P(TransportConformanceTest, AMessageMayComeBeforeItsReceive) {
  this->MakeGroup(2);
  const std::string sent = this->Pattern(3 << 20, 2);
  std::string received(sent.size(), 'x');
  Completion send, send_marker, receive, receive_marker;
  std::string marker(1, 'x');
  this->group_[0]->Send(1, 7, this->Bytes(absl::string_view(sent)), &send);
  this->group_[0]->Send(1, 8, this->Bytes(absl::string_view("m")), &send_marker);
  // Once the marker is there, the message before it is there as well, or on its way.
  this->group_[1]->Receive(0, 8, ReceiveMode::kOverwrite, this->Bytes(&marker), &receive_marker);
  EXPECT_OK(this->End(&receive_marker));
  EXPECT_OK(this->End(&send_marker));
  this->group_[1]->Receive(0, 7, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
  EXPECT_OK(this->End(&receive));
  EXPECT_OK(this->End(&send));
  EXPECT_TRUE(received == sent);
}

TYPED_TEST_P(TransportConformanceTest, A22MessagesAreMatchedByTagInAnyOrder) {
  this->MakeGroup(2);
  constexpr int kCount = 16;
  std::vector<std::string> sent, received(kCount, std::string(5, 'x'));
  for (int i = 0; i < kCount; ++i) sent.push_back(this->Pattern(5, i));
  std::deque<Completion> sends(kCount), receives(kCount);
  for (int i = 0; i < kCount; ++i) {
    this->group_[0]->Send(1, i, this->Bytes(absl::string_view(sent[i])), &sends[i]);
  }
  for (int i = kCount - 1; i >= 0; --i) {
    this->group_[1]->Receive(0, i, ReceiveMode::kOverwrite, this->Bytes(&received[i]), &receives[i]);
  }
  for (int i = 0; i < kCount; ++i) {
    EXPECT_OK(this->End(&receives[i]));
    EXPECT_OK(this->End(&sends[i]));
    EXPECT_EQ(received[i], sent[i]);
  }
}

TYPED_TEST_P(TransportConformanceTest, TheSameTagFromTwoPeersIsTwoMessages) {
  this->MakeGroup(3);
  std::string from_1(1, 'x'), from_2(1, 'x');
  Completion send_1, send_2, receive_1, receive_2;
  this->group_[0]->Receive(1, 5, ReceiveMode::kOverwrite, this->Bytes(&from_1), &receive_1);
  this->group_[0]->Receive(2, 5, ReceiveMode::kOverwrite, this->Bytes(&from_2), &receive_2);
  this->group_[2]->Send(0, 5, this->Bytes(absl::string_view("2")), &send_2);
  this->group_[1]->Send(0, 5, this->Bytes(absl::string_view("1")), &send_1);
  EXPECT_OK(this->End(&receive_1));
  EXPECT_OK(this->End(&receive_2));
  EXPECT_OK(this->End(&send_1));
  EXPECT_OK(this->End(&send_2));
  EXPECT_EQ(from_1 + from_2, "12");
}

TYPED_TEST_P(TransportConformanceTest, BothDirectionsAreUsedAtOnce) {
  this->MakeGroup(2);
  constexpr int kCount = 12;
  const std::string sent[2] = {this->Pattern(3000001, 3), this->Pattern(3000001, 4)};
  std::vector<std::string> received[2];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    received[rank].assign(kCount, std::string(sent[0].size(), 'x'));
    threads.emplace_back([&, rank] {
      std::deque<Completion> sends(kCount), receives(kCount);
      for (int i = 0; i < kCount; ++i) {
        this->group_[rank]->Receive(1 - rank, i, ReceiveMode::kOverwrite, this->Bytes(&received[rank][i]),
                                    &receives[i]);
        this->group_[rank]->Send(1 - rank, i, this->Bytes(absl::string_view(sent[rank])), &sends[i]);
      }
      for (int i = 0; i < kCount; ++i) {
        EXPECT_OK(this->End(&sends[i]));
        EXPECT_OK(this->End(&receives[i]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kCount; ++i) {
    EXPECT_TRUE(received[0][i] == sent[1]) << i;
    EXPECT_TRUE(received[1][i] == sent[0]) << i;
  }
}

TYPED_TEST_P(TransportConformanceTest, DoublesAndFloatsAreAddedExactlyOnce) {
  this->MakeGroup(2);
  uint64_t tag = 0;
  for (size_t doubles : {size_t{0}, size_t{1}, size_t{3}, size_t{200001}}) {
    for (size_t floats : {size_t{0}, size_t{1}, size_t{5}, size_t{700001}}) {
      std::vector<double> sent_doubles(doubles), sum_doubles(doubles);
      std::vector<float> sent_floats(floats), sum_floats(floats);
      for (size_t i = 0; i < doubles; ++i) {
        sent_doubles[i] = static_cast<double>(i) + 0.5;
        sum_doubles[i] = 1e9;
      }
      for (size_t i = 0; i < floats; ++i) {
        sent_floats[i] = static_cast<float>(i % 1000);
        sum_floats[i] = 2000;
      }
      SendParts from;
      from.doubles = sent_doubles;
      from.floats = sent_floats;
      ReceiveParts to;
      to.doubles = absl::MakeSpan(sum_doubles);
      to.floats = absl::MakeSpan(sum_floats);
      Completion send, receive;
      this->group_[0]->Send(1, tag, from, &send);
      this->group_[1]->Receive(0, tag, ReceiveMode::kAdd, to, &receive);
      ASSERT_OK(this->End(&receive));
      ASSERT_OK(this->End(&send));
      for (size_t i = 0; i < doubles; ++i) ASSERT_EQ(sum_doubles[i], 1e9 + static_cast<double>(i) + 0.5) << i;
      for (size_t i = 0; i < floats; ++i)
        ASSERT_EQ(sum_floats[i], 2000.0f + static_cast<float>(i % 1000)) << i;
      ++tag;
    }
  }
}

TYPED_TEST_P(TransportConformanceTest, AnotherLengthThanExpectedIsAnErrorThatNamesBoth) {
  for (const bool receive_first : {true, false}) {
    this->MakeGroup(2);
    std::string received(7, 'x');
    Completion send, receive;
    if (receive_first)
      this->group_[1]->Receive(0, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
    this->group_[0]->Send(1, 1, this->Bytes(absl::string_view("12345")), &send);
    if (!receive_first)
      this->group_[1]->Receive(0, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
    EXPECT_THAT(this->End(&receive), StatusIs(absl::StatusCode::kInvalidArgument,
                                              ::testing::AllOf(::testing::HasSubstr("sent 5 bytes"),
                                                               ::testing::HasSubstr("where 7"))));
    EXPECT_EQ(received, "xxxxxxx");
    EXPECT_EQ(this->group_[1]->status().code(), absl::StatusCode::kInvalidArgument);
    this->End(&send).IgnoreError();
  }
}

TYPED_TEST_P(TransportConformanceTest, AbortEndsEverythingAndStays) {
  this->MakeGroup(3);
  std::string received(1, 'x');
  Completion receive, from_other, later;
  this->group_[0]->Receive(1, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
  this->group_[0]->Receive(2, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &from_other);
  this->group_[0]->Abort(absl::CancelledError("enough"));
  EXPECT_THAT(this->End(&receive), StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(this->End(&from_other), StatusIs(absl::StatusCode::kCancelled, "enough"));
  this->group_[0]->Abort(absl::InternalError("later"));
  this->group_[0]->Send(1, 2, this->Bytes(absl::string_view("a")), &later);
  EXPECT_THAT(this->End(&later), StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(this->group_[0]->status(), StatusIs(absl::StatusCode::kCancelled, "enough"));
}

TYPED_TEST_P(TransportConformanceTest, AbortIsHeardByThePeersWithItsCause) {
  this->MakeGroup(3);
  std::string received(1, 'x');
  Completion receive;
  this->group_[2]->Receive(1, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
  this->group_[0]->Abort(absl::DataLossError("broken disk"));
  const absl::Status status = this->End(&receive);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("ended the group: broken disk")));
  EXPECT_EQ(LostRank(status), 0);
}

TYPED_TEST_P(TransportConformanceTest, TheLossOfAThirdRankIsPassedOnWordForWord) {
  this->MakeGroup(3);
  std::string received(1, 'x');
  Completion receive;
  this->group_[2]->Receive(0, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
  this->group_[0]->Abort(MakePeerLostStatus(1, "10.0.0.1:5301", "no heartbeat"));
  const absl::Status status = this->End(&receive);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "rank 1 (10.0.0.1:5301) lost: no heartbeat"));
  EXPECT_EQ(LostRank(status), 1);
}

TYPED_TEST_P(TransportConformanceTest, AbortReleasesLargeBuffersThatNobodyReceives) {
  this->MakeGroup(2);
  Completion send;
  {
    const std::string sent = this->Pattern(100 << 20, 5);
    this->group_[0]->Send(1, 1, this->Bytes(absl::string_view(sent)), &send);
    this->group_[0]->Abort(absl::CancelledError("enough"));
    EXPECT_THAT(this->End(&send), StatusIs(absl::StatusCode::kCancelled, "enough"));
  }  // A transport that still reads the text now is caught by the address sanitizer.
  this->group_.clear();
}

TYPED_TEST_P(TransportConformanceTest, ADestroyedPeerIsNamed) {
  this->MakeGroup(3);
  std::string received(1, 'x');
  Completion receive;
  this->group_[0]->Receive(2, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
  this->group_[2].reset();
  const absl::Status status = this->End(&receive);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, ::testing::StartsWith("rank 2 (")));
  EXPECT_EQ(LostRank(status), 2);
  EXPECT_EQ(LostRank(this->group_[0]->status()), 2);
}

TYPED_TEST_P(TransportConformanceTest, APeerThatLeavesInOrderIsNoLoss) {
  this->MakeGroup(3);
  // Rank 0 hears from the others, then they leave one after the other.
  std::string received(1, 'x');
  for (int peer : {1, 2}) {
    Completion send, receive;
    this->group_[peer]->Send(0, 1, this->Bytes(absl::string_view("a")), &send);
    this->group_[0]->Receive(peer, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
    EXPECT_OK(this->End(&receive));
    EXPECT_OK(this->End(&send));
    this->group_[peer].reset();
    EXPECT_OK(this->group_[0]->status());
  }
}

TYPED_TEST_P(TransportConformanceTest, WhatALeavingPeerSentBeforeIsStillReceived) {
  this->MakeGroup(2);
  const std::string sent = this->Pattern(100000, 6);
  std::string received(sent.size(), 'x');
  Completion send, receive;
  this->group_[0]->Receive(1, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
  this->group_[1]->Send(0, 1, this->Bytes(absl::string_view(sent)), &send);
  EXPECT_OK(this->End(&send));
  this->group_[1].reset();
  EXPECT_OK(this->End(&receive));
  EXPECT_TRUE(received == sent);
}

TYPED_TEST_P(TransportConformanceTest, OneTagHasOneOperationAtATime) {
  this->MakeGroup(2);
  std::string received(1, 'x');
  Completion first, second;
  this->group_[0]->Receive(1, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &first);
  this->group_[0]->Receive(1, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &second);
  EXPECT_THAT(this->End(&second),
              StatusIs(absl::StatusCode::kAlreadyExists, ::testing::HasSubstr("under way")));
  this->group_[0]->Abort(absl::CancelledError("done"));
  EXPECT_EQ(this->End(&first).code(), absl::StatusCode::kCancelled);
}

TYPED_TEST_P(TransportConformanceTest, RefusesPeersThatDoNotExist) {
  this->MakeGroup(2);
  for (int peer : {-1, 0, 2}) {
    std::string received(1, 'x');
    Completion send, receive;
    this->group_[0]->Send(peer, 1, this->Bytes(absl::string_view("a")), &send);
    this->group_[0]->Receive(peer, 1, ReceiveMode::kOverwrite, this->Bytes(&received), &receive);
    EXPECT_THAT(this->End(&send),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("no peer")));
    EXPECT_THAT(this->End(&receive),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("no peer")));
  }
  EXPECT_OK(this->group_[0]->status());
}

REGISTER_TYPED_TEST_SUITE_P(TransportConformanceTest, RanksKnowTheirPlace, AGroupOfOneRankIsPossible,
                            A09MessagesOfAnySizeArriveUnchanged, AMessageMayComeBeforeItsReceive,
                            A22MessagesAreMatchedByTagInAnyOrder, TheSameTagFromTwoPeersIsTwoMessages,
                            BothDirectionsAreUsedAtOnce, DoublesAndFloatsAreAddedExactlyOnce,
                            AnotherLengthThanExpectedIsAnErrorThatNamesBoth, AbortEndsEverythingAndStays,
                            AbortIsHeardByThePeersWithItsCause, TheLossOfAThirdRankIsPassedOnWordForWord,
                            AbortReleasesLargeBuffersThatNobodyReceives, ADestroyedPeerIsNamed,
                            APeerThatLeavesInOrderIsNoLoss, WhatALeavingPeerSentBeforeIsStillReceived,
                            OneTagHasOneOperationAtATime, RefusesPeersThatDoNotExist);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_CONFORMANCE_H_

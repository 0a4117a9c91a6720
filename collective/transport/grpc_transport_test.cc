#include "collective/transport/grpc_transport.h"

#include <grpcpp/create_channel.h>

#include <cstdlib>
#include <deque>
#include <thread>

#include "collective/peer_lost.h"
#include "collective/transport/frame_codec.h"
#include "collective/transport/grpc_cluster.h"
#include "proto/collective.grpc.pb.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kJob = 99;
constexpr absl::Duration kPatience = absl::Seconds(30);

SendParts Bytes(absl::string_view text) {
  SendParts parts;
  parts.bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
  return parts;
}
ReceiveParts Bytes(std::string* text) {
  ReceiveParts parts;
  parts.bytes = absl::MakeSpan(reinterpret_cast<std::byte*>(text->data()), text->size());
  return parts;
}
absl::Status End(Completion* completion) {
  if (!completion->Wait(absl::Now() + kPatience)) return absl::InternalError("operation did not end");
  return completion->status();
}

// Sends one byte from rank 0 to rank 1.
absl::Status Exchange(Transport* rank_0, Transport* rank_1, uint64_t tag, char value) {
  Completion send, receive;
  const std::string sent(1, value);
  std::string received(1, '.');
  rank_1->Receive(0, tag, ReceiveMode::kOverwrite, Bytes(&received), &receive);
  rank_0->Send(1, tag, Bytes(absl::string_view(sent)), &send);
  const absl::Status sent_status = End(&send);
  const absl::Status status = End(&receive);
  if (!sent_status.ok()) return sent_status;
  if (status.ok() && received != sent) return absl::DataLossError("received something else");
  return status;
}

// What a peer that speaks the protocol by itself gets as an answer to its first frame.
absl::Status CallWith(const std::string& address, const v1::Frame& hello) {
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  const std::unique_ptr<v1::Collective::Stub> stub = v1::Collective::NewStub(channel);
  grpc::ClientContext context;
  const auto call = stub->Exchange(&context);
  call->Write(hello);
  v1::Frame answer;
  if (call->Read(&answer)) {
    context.TryCancel();
    return absl::OkStatus();
  }
  const grpc::Status status = call->Finish();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

v1::Frame Hello(int64_t generation, int rank, int peer_rank, int world_size) {
  v1::Frame frame;
  frame.ParseFromString(EncodeHello({kJob, generation}, {rank, peer_rank, world_size}));
  return frame;
}

TEST(GrpcTransportTest, ServersAndChannelsServeOneGroupAfterTheOther) {
  GrpcCluster cluster(2);
  for (int64_t generation = 0; generation < 3; ++generation) {
    const auto group = cluster.Connect(kJob, generation);
    EXPECT_OK(Exchange(group[0].get(), group[1].get(), 1, 'a'));
  }
}

TEST(GrpcTransportTest, JobsAndGenerationsDoNotMix) {
  GrpcCluster cluster(2);
  const auto one = cluster.Connect(1, 0);
  const auto two = cluster.Connect(2, 0);
  const auto newer = cluster.Connect(1, 1);
  EXPECT_OK(Exchange(one[0].get(), one[1].get(), 7, 'a'));
  EXPECT_OK(Exchange(two[0].get(), two[1].get(), 7, 'b'));
  EXPECT_OK(Exchange(newer[0].get(), newer[1].get(), 7, 'c'));
  one[0]->Abort(absl::CancelledError("enough"));
  EXPECT_OK(Exchange(two[0].get(), two[1].get(), 8, 'b'));
  EXPECT_OK(Exchange(newer[0].get(), newer[1].get(), 8, 'c'));
}

TEST(GrpcTransportTest, APeerThatIsAheadWaitsForTheGroup) {
  GrpcCluster cluster(2);
  absl::StatusOr<std::unique_ptr<Transport>> early = absl::UnknownError("not yet");
  std::thread ahead(
      [&] { early = cluster.service(1)->Connect(cluster.Group(1, kJob, 0), absl::Now() + kPatience); });
  // An unrelated group on the same servers: by then the call above is there, or it comes during Connect.
  const auto other = cluster.Connect(kJob + 1, 0);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Transport> late,
                       cluster.service(0)->Connect(cluster.Group(0, kJob, 0), absl::Now() + kPatience));
  ahead.join();
  ASSERT_OK(early);
  EXPECT_OK(Exchange(late.get(), early->get(), 1, 'a'));
}

TEST(GrpcTransportTest, MissingRanksAreNamedWithTheLastCause) {
  GrpcCluster cluster(3);
  GroupOptions group = cluster.Group(1, kJob, 0);
  cluster.Stop(0);
  const auto result = cluster.service(1)->Connect(group, absl::Now() + absl::Seconds(1));
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               AllOf(HasSubstr("missing 2 of 3 ranks"),
                                     HasSubstr("rank 0 (" + group.addresses[0] + "): fail"),
                                     HasSubstr("rank 2 (" + group.addresses[2] + "): has not connected"))));
}

TEST(GrpcTransportTest, AFailedConnectTellsThePeersThatAreThere) {
  GrpcCluster cluster(3);
  absl::StatusOr<std::unique_ptr<Transport>> other = absl::UnknownError("not yet");
  std::thread thread(
      [&] { other = cluster.service(1)->Connect(cluster.Group(1, kJob, 0), absl::Now() + kPatience); });
  const auto result = cluster.service(0)->Connect(cluster.Group(0, kJob, 0), absl::Now() + absl::Seconds(2));
  thread.join();
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("rank 2")));
  EXPECT_FALSE(other.ok());
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("rank 2"));
}

TEST(GrpcTransportTest, AbortGroupEndsAConnect) {
  GrpcCluster cluster(2);
  absl::StatusOr<std::unique_ptr<Transport>> result = absl::UnknownError("not yet");
  std::thread thread(
      [&] { result = cluster.service(0)->Connect(cluster.Group(0, kJob, 0), absl::InfiniteFuture()); });
  // The group is there once its address answers a caller of its generation.
  EXPECT_OK(CallWith(cluster.Group(0, kJob, 0).addresses[0], Hello(0, 1, 0, 2)));
  cluster.service(0)->AbortGroup(kJob, 0, absl::CancelledError("user's wish"));
  thread.join();
  // Either before or after the call above had made it complete.
  if (result.ok()) {
    EXPECT_FALSE((*result)->status().ok());
  } else {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled, "user's wish"));
  }
}

TEST(GrpcTransportTest, AnOldGenerationIsRefusedWithItsOwnStatus) {
  GrpcCluster cluster(2);
  const auto group = cluster.Connect(kJob, 4);
  const auto old =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("generation 3"), HasSubstr("is over"), HasSubstr("newest one known is 4")));
  EXPECT_THAT(CallWith(cluster.Group(0, kJob, 3).addresses[0], Hello(3, 1, 0, 2)), old);
  EXPECT_THAT(cluster.service(1)->Connect(cluster.Group(1, kJob, 4), absl::Now() + kPatience),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not newer")));
  EXPECT_OK(Exchange(group[0].get(), group[1].get(), 1, 'a'));
}

// Rank 1 was restarted and knows nothing; rank 0 does.
TEST(GrpcTransportTest, AStaleRankLearnsFromItsPeerThatItsGenerationIsOver) {
  GrpcCluster cluster(2);
  EXPECT_FALSE(cluster.service(0)->Connect(cluster.Group(0, kJob, 5), absl::Now()).ok());
  EXPECT_THAT(
      cluster.service(1)->Connect(cluster.Group(1, kJob, 5), absl::Now() + kPatience),
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("refuses"), HasSubstr("is over"))));
}

TEST(GrpcTransportTest, RefusesCallersThatDoNotFitTheGroup) {
  GrpcCluster cluster(3);
  const auto group = cluster.Connect(kJob, 1);
  const std::string address = cluster.Group(1, kJob, 1).addresses[1];
  const auto refused = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(text));
  };
  EXPECT_THAT(CallWith(address, Hello(1, 2, 1, 4)), refused("world of 4"));
  EXPECT_THAT(CallWith(address, Hello(1, 2, 0, 3)), refused("this is rank 1"));
  EXPECT_THAT(CallWith(address, Hello(1, 0, 1, 3)), refused("no business"));
  EXPECT_THAT(CallWith(address, Hello(1, 3, 1, 3)), refused("no business"));
  EXPECT_THAT(CallWith(address, Hello(1, -1, 1, 3)), refused("no business"));
  EXPECT_THAT(CallWith(address, Hello(1, 2, 1, 3)),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("rank 2")));
  v1::Frame no_hello;
  no_hello.set_job(kJob);
  EXPECT_THAT(CallWith(address, no_hello), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hello")));
  v1::Frame version = Hello(1, 2, 1, 3);
  version.mutable_hello()->set_protocol_version(2);
  EXPECT_THAT(CallWith(address, version), refused("protocol version 2"));
  EXPECT_OK(Exchange(group[0].get(), group[1].get(), 1, 'a'));
}

TEST(GrpcTransportTest, CallsThatWaitForTheirGroupAreBoundedInNumberAndTime) {
  GrpcTransportOptions options;
  options.max_waiting_streams = 1;
  options.waiting_timeout = absl::Milliseconds(400);
  GrpcNode node(options);
  absl::Status first, second;
  std::thread thread([&] { first = CallWith(node.address(), Hello(1, 1, 0, 2)); });
  second = CallWith(node.address(), Hello(2, 1, 0, 2));
  thread.join();
  const absl::Status& waited = first.code() == absl::StatusCode::kDeadlineExceeded ? first : second;
  const absl::Status& other = &waited == &first ? second : first;
  EXPECT_THAT(waited, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("not created here")));
  // The second one finds no room, unless it came after the first one's end.
  EXPECT_THAT(other.code(),
              ::testing::AnyOf(absl::StatusCode::kResourceExhausted, absl::StatusCode::kDeadlineExceeded));
}

TEST(GrpcTransportTest, ADifferentWorldIsRefusedWhenTheGroupIsFormed) {
  GrpcCluster cluster(2);
  GroupOptions larger = cluster.Group(1, kJob, 0);
  larger.addresses.push_back("127.0.0.1:1");
  absl::StatusOr<std::unique_ptr<Transport>> other = absl::UnknownError("not yet");
  std::thread thread([&] {
    other = cluster.service(0)->Connect(cluster.Group(0, kJob, 0), absl::Now() + absl::Seconds(2));
  });
  EXPECT_THAT(cluster.service(1)->Connect(larger, absl::Now() + kPatience),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("world of 3")));
  thread.join();
  EXPECT_FALSE(other.ok());
}

TEST(GrpcTransportTest, A08ProxiesAreIgnored) {
  setenv("http_proxy", "http://127.0.0.1:9", 1);
  setenv("https_proxy", "http://127.0.0.1:9", 1);
  GrpcCluster cluster(2);
  const auto group = cluster.Connect(kJob, 0);
  EXPECT_OK(Exchange(group[0].get(), group[1].get(), 1, 'a'));
  unsetenv("http_proxy");
  unsetenv("https_proxy");
}

// Probes every 10 ms for a second: with gRPC's defaults the server ends such a connection after the third.
TEST(GrpcTransportTest, A10FrequentProbesOfAnIdleJobAreAccepted) {
  GrpcTransportOptions options;
  options.keepalive_interval = absl::Milliseconds(10);
  GrpcCluster cluster(2, options);
  const auto group = cluster.Connect(kJob, 0);
  std::string received(1, '.');
  Completion never;
  group[1]->Receive(0, 1, ReceiveMode::kOverwrite, Bytes(&received), &never);
  EXPECT_FALSE(never.Wait(absl::Now() + absl::Seconds(1)));
  EXPECT_OK(group[0]->status());
  EXPECT_OK(group[1]->status());
  EXPECT_OK(Exchange(group[0].get(), group[1].get(), 2, 'a'));
  group[1]->Abort(absl::CancelledError("done"));
  EXPECT_EQ(End(&never).code(), absl::StatusCode::kCancelled);
}

TEST(GrpcTransportTest, AbortGroupTellsThePeersTheCauseWordForWord) {
  GrpcCluster cluster(2);
  const auto group = cluster.Connect(kJob, 0);
  const std::string address = cluster.Group(0, kJob, 0).addresses[0];
  std::string received(1, '.');
  Completion receive;
  group[1]->Receive(0, 1, ReceiveMode::kOverwrite, Bytes(&received), &receive);
  cluster.service(0)->AbortGroup(kJob, 0, MakePeerLostStatus(0, address, "test"));
  EXPECT_THAT(End(&receive),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 0 (" + address + ") lost")));
  EXPECT_EQ(LostRank(group[1]->status()), 0);
}

// More than the receiver holds for later: the rest waits at the sender.
TEST(GrpcTransportTest, APeerThatRunsAheadIsHeldUpAndLosesNothing) {
  GrpcTransportOptions options;
  options.max_unexpected_frames = 4;
  GrpcCluster cluster(2, options);
  const auto group = cluster.Connect(kJob, 0);
  constexpr int kCount = 100;
  const std::string sent(200000, 's');
  std::deque<Completion> sends(kCount), receives(kCount);
  std::vector<std::string> received(kCount, std::string(sent.size(), '.'));
  for (int i = 0; i < kCount; ++i) group[0]->Send(1, i, Bytes(absl::string_view(sent)), &sends[i]);
  EXPECT_FALSE(sends[kCount - 1].Wait(absl::Now() + absl::Milliseconds(200)));
  for (int i = 0; i < kCount; ++i) {
    group[1]->Receive(0, i, ReceiveMode::kOverwrite, Bytes(&received[i]), &receives[i]);
    ASSERT_OK(End(&receives[i]));
    ASSERT_TRUE(received[i] == sent) << i;
  }
  for (Completion& send : sends) EXPECT_OK(End(&send));
}

TEST(GrpcTransportTest, RefusesOptionsThatMakeNoSense) {
  GrpcCluster cluster(1);
  GroupOptions group = cluster.Group(0, kJob, 0);
  group.rank = 1;
  EXPECT_THAT(cluster.service(0)->Connect(group, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 1 in a group of 1")));
  group = cluster.Group(0, kJob, -1);
  EXPECT_THAT(cluster.service(0)->Connect(group, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("generation -1")));
}

}  // namespace
}  // namespace lockstep

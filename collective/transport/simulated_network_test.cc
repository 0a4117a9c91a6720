#include "collective/transport/simulated_network.h"

#include <cmath>
#include <thread>

#include "absl/time/clock.h"
#include "base/status_matchers.h"
#include "collective/run_on_ranks.h"

namespace lockstep {
namespace {

constexpr SimulatedLink kLink = {1e9, absl::Microseconds(50)};

CommunicatorOptions Options(Algorithm algorithm) {
  CommunicatorOptions options;
  options.algorithm = algorithm;
  options.segment_bytes = size_t{64} << 10;
  return options;
}

// Seconds that an all-reduce of so many floats takes; checks the sum.
double AllReduceSeconds(int world_size, size_t floats, Algorithm algorithm) {
  SimulatedNetwork network(world_size, kLink);
  std::vector<double> seconds(world_size);
  RunOnRanks(network.MakeGroup(), Options(algorithm), [&](Communicator* communicator) {
    const int rank = communicator->rank();
    std::vector<float> values(floats, static_cast<float>(rank + 1));
    network.Meet(rank);
    const absl::Duration start = network.Now();
    ASSERT_OK(communicator->AllReduce({{}, absl::MakeSpan(values)}));
    seconds[rank] = absl::ToDoubleSeconds(network.Now() - start);
    const auto sum = static_cast<float>(world_size * (world_size + 1) / 2);
    for (const float value : values) ASSERT_EQ(value, sum);
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

double Hops(int hops) { return hops * absl::ToDoubleSeconds(kLink.latency); }
double Transmission(double bytes) { return bytes / kLink.bytes_per_second; }

TEST(SimulatedNetworkTest, OneHopTakesTheLatencyAndTheBytesThatEachRankSends) {
  EXPECT_NEAR(AllReduceSeconds(4, 250, Algorithm::kOneHop), Hops(1) + Transmission(3 * 1000), 1e-9);
}

TEST(SimulatedNetworkTest, AMeshTakesTwoHops) {
  EXPECT_NEAR(AllReduceSeconds(4, 1000, Algorithm::kMesh), Hops(2) + 2 * Transmission(3 * 1000), 1e-9);
}

TEST(SimulatedNetworkTest, ARingTakesItsHopsOneAfterTheOther) {
  EXPECT_NEAR(AllReduceSeconds(4, 1000, Algorithm::kRing), 6 * (Hops(1) + Transmission(1000)), 1e-9);
}

TEST(SimulatedNetworkTest, EveryRunTakesTheSameTime) {
  const double once = AllReduceSeconds(7, 100003, Algorithm::kMesh);
  for (int run = 0; run < 10; ++run) EXPECT_EQ(AllReduceSeconds(7, 100003, Algorithm::kMesh), once);
}

// Two messages to one rank share its link, however many links they come from.
TEST(SimulatedNetworkTest, TheReceiversLinkIsShared) {
  SimulatedNetwork network(3, kLink);
  std::vector<std::unique_ptr<Transport>> group = network.MakeGroup();
  const std::vector<float> values(1000);
  std::vector<std::thread> senders;
  for (int rank : {1, 2}) {
    senders.emplace_back([&, rank] {
      Completion sent;
      group[rank]->Send(0, 1, {{}, values, {}}, &sent);
      EXPECT_TRUE(group[rank]->Wait(&sent, absl::InfiniteFuture(), Waiting::kAsleep));
      EXPECT_OK(sent.status());
      network.Meet(rank);
    });
  }
  std::vector<float> received(2000);
  Completion one, two;
  group[0]->Receive(1, 1, ReceiveMode::kOverwrite, {{}, absl::MakeSpan(received).first(1000), {}}, &one);
  group[0]->Receive(2, 1, ReceiveMode::kOverwrite, {{}, absl::MakeSpan(received).last(1000), {}}, &two);
  EXPECT_TRUE(group[0]->Wait(&one, absl::InfiniteFuture(), Waiting::kAsleep));
  EXPECT_TRUE(group[0]->Wait(&two, absl::InfiniteFuture(), Waiting::kAsleep));
  EXPECT_NEAR(absl::ToDoubleSeconds(network.Now()), Hops(1) + Transmission(2 * 4000), 1e-9);
  network.Meet(0);
  for (std::thread& sender : senders) sender.join();
}

TEST(SimulatedNetworkTest, AnAbortEndsTheOperationsOfAllRanks) {
  SimulatedNetwork network(3, kLink);
  RunOnRanks(network.MakeGroup(), Options(Algorithm::kRing), [&](Communicator* communicator) {
    if (communicator->rank() == 1) return communicator->Abort(absl::DataLossError("a bad row"));
    EXPECT_FALSE(communicator->Barrier().ok());
  });
}

TEST(SimulatedNetworkTest, AWaitForWhatNobodySendsEnds) {
  SimulatedNetwork network(2, kLink);
  CommunicatorOptions options = Options(Algorithm::kRing);
  options.timeout = absl::Milliseconds(20);
  RunOnRanks(network.MakeGroup(), options, [&](Communicator* communicator) {
    if (communicator->rank() == 1) return network.Meet(1);
    EXPECT_THAT(communicator->Barrier(), StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::_));
    network.Meet(0);
  });
}

}  // namespace
}  // namespace lockstep

// Sweeps: operation k of one rank goes wrong, for all k and all kinds; nobody may hang and nobody may
// believe in a wrong result.
#include <tuple>

#include "absl/time/clock.h"
#include "collective/communicator.h"
#include "collective/run_on_ranks.h"
#include "collective/transport/fault_transport.h"
#include "collective/transport/in_process_transport.h"

namespace lockstep {
namespace {

struct Way {
  Algorithm algorithm;
  Compression compression = Compression::kNone;
};

constexpr Way kWays[] = {
    {Algorithm::kRing}, {Algorithm::kMesh}, {Algorithm::kOneHop}, {Algorithm::kMesh, Compression::kBfloat16}};
constexpr int kRanks = 3;
constexpr int kFaultyRank = 1;
constexpr size_t kCount = 100;  // chunks of 33 or 34 floats, in 5 segments of at most 8
constexpr absl::Duration kLongTimeout = absl::Seconds(30);

struct Outcome {
  absl::Status status[kRanks];
  bool exact[kRanks] = {};
  bool injected = false;  // during the all-reduce
};

// Sends, or receives, of one rank in an all-reduce.
int64_t NumOperations(const Way& way) {
  if (way.algorithm == Algorithm::kOneHop) return kRanks - 1;
  return 5 * 2 * (kRanks - 1);  // segments; hops and peers of the mesh, or steps of the ring
}

Outcome AllReduceWith(const Way& way, const Fault& fault, absl::Duration timeout) {
  CommunicatorOptions options;
  options.algorithm = way.algorithm;
  options.compression = way.compression;
  options.segment_bytes = 32;
  options.timeout = timeout;
  std::vector<std::unique_ptr<Transport>> group;
  std::vector<FaultTransport*> faulty;
  for (std::unique_ptr<Transport>& transport : MakeInProcessGroup(kRanks)) {
    group.push_back(std::make_unique<FaultTransport>(std::move(transport), FaultPlan{fault}));
    faulty.push_back(static_cast<FaultTransport*>(group.back().get()));
  }
  Outcome outcome;
  RunOnRanks(std::move(group), options, [&](Communicator* communicator) {
    const int rank = communicator->rank();
    std::vector<float> values(kCount, static_cast<float>(rank + 1));
    absl::Status status = communicator->AllReduce({{}, absl::MakeSpan(values)});
    if (rank == kFaultyRank) outcome.injected = faulty[rank]->faults_injected() > 0;
    // As in a step: nobody goes on before all have the sum.
    if (status.ok()) status = communicator->Barrier();
    outcome.status[rank] = status;
    outcome.exact[rank] = values == std::vector<float>(kCount, 6.0f);
  });
  return outcome;
}

class FailOperationTest : public ::testing::TestWithParam<std::tuple<FaultKind, FaultDirection, Way>> {};

class FaultTest : public ::testing::TestWithParam<Way> {};

TEST_P(FailOperationTest, EveryRankEndsWithAnErrorWhicheverOperationFails) {
  const auto [kind, direction, way] = GetParam();
  // A rank that waits for what never comes ends by its timeout. A short one; on a busy machine it may end the
  // all-reduce before the fault does, which is an error as well.
  const absl::Duration timeout = absl::Milliseconds(30);
  for (int64_t k = 0; k < NumOperations(way); ++k) {
    const absl::Time start = absl::Now();
    const Outcome outcome = AllReduceWith(way, {kFaultyRank, Fault::kAnyPeer, direction, k, kind}, timeout);
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_FALSE(outcome.status[rank].ok()) << "rank " << rank << ", operation " << k;
    }
    EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  }
}

TEST_P(FaultTest, TheSweepCoversAllOperationsOfAnAllReduce) {
  for (const FaultDirection direction : {FaultDirection::kSend, FaultDirection::kReceive}) {
    const auto injected = [&](int64_t k) {
      return AllReduceWith(GetParam(), {kFaultyRank, Fault::kAnyPeer, direction, k, FaultKind::kDisconnect},
                           kLongTimeout)
          .injected;
    };
    EXPECT_TRUE(injected(NumOperations(GetParam()) - 1));
    EXPECT_FALSE(injected(NumOperations(GetParam())));
  }
}

INSTANTIATE_TEST_SUITE_P(Sends, FailOperationTest,
                         ::testing::Combine(::testing::Values(FaultKind::kDrop, FaultKind::kTruncate,
                                                              FaultKind::kDisconnect, FaultKind::kHang),
                                            ::testing::Values(FaultDirection::kSend),
                                            ::testing::ValuesIn(kWays)));
INSTANTIATE_TEST_SUITE_P(
    Receives, FailOperationTest,
    ::testing::Combine(::testing::Values(FaultKind::kTruncate, FaultKind::kDisconnect, FaultKind::kHang),
                       ::testing::Values(FaultDirection::kReceive), ::testing::ValuesIn(kWays)));
INSTANTIATE_TEST_SUITE_P(All, FaultTest, ::testing::ValuesIn(kWays));

TEST_P(FaultTest, ADuplicateIsNeverAddedTwice) {
  for (int64_t k = 0; k < NumOperations(GetParam()); ++k) {
    const Outcome outcome = AllReduceWith(
        GetParam(), {kFaultyRank, Fault::kAnyPeer, FaultDirection::kSend, k, FaultKind::kDuplicate},
        kLongTimeout);
    EXPECT_TRUE(outcome.injected);
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(!outcome.status[rank].ok() || outcome.exact[rank])
          << "rank " << rank << ", operation " << k;
    }
  }
}

// Documents a limit: nothing in a transport sees a bit that changes in memory. Hashes of the parameters do.
TEST_P(FaultTest, AFlippedBitGoesIntoTheSum) {
  const Outcome outcome =
      AllReduceWith(GetParam(), {kFaultyRank, Fault::kAnyPeer, FaultDirection::kSend, 0, FaultKind::kFlipBit},
                    kLongTimeout);
  EXPECT_TRUE(outcome.injected);
  EXPECT_FALSE(outcome.exact[2]);
}

TEST_P(FaultTest, ADisconnectionIsTheRootCauseEverywhere) {
  const Outcome outcome = AllReduceWith(
      GetParam(), {kFaultyRank, 2, FaultDirection::kSend, 0, FaultKind::kDisconnect}, kLongTimeout);
  for (const absl::Status& status : outcome.status) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr("rank 2 (by plan) lost")));
  }
}

}  // namespace
}  // namespace lockstep

#include "collective/communicator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/random.h"
#include "collective/half.h"
#include "collective/peer_lost.h"
#include "collective/run_on_ranks.h"
#include "collective/transport/in_process_transport.h"
#include "collective/transport/reorder_transport.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWorldSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
constexpr size_t kSegmentBytes = 64;  // 16 floats

// How sums are made: by messages, or in shared memory, from buffers that lie there or do not.
struct Way {
  const char* name;
  Algorithm algorithm = Algorithm::kAuto;
  SharedMemoryUse shared_memory = SharedMemoryUse::kNever;
  bool allocated = false;  // by the communicator
};

constexpr Way kRing = {"Ring", Algorithm::kRing};
constexpr Way kWays[] = {
    kRing,
    {"Mesh", Algorithm::kMesh},
    {"OneHop", Algorithm::kOneHop},
    {"Auto", Algorithm::kAuto},
    {"AutoAllocated", Algorithm::kAuto, SharedMemoryUse::kNever, true},
    {"SharedMemory", Algorithm::kAuto, SharedMemoryUse::kAuto},
    {"SharedMemoryAllocated", Algorithm::kAuto, SharedMemoryUse::kAuto, true},
};

CommunicatorOptions OptionsOf(const Way& way) {
  CommunicatorOptions options;
  options.algorithm = way.algorithm;
  options.shared_memory = way.shared_memory;
  return options;
}

CommunicatorOptions SmallSegments(const Way& way = kRing) {
  CommunicatorOptions options = OptionsOf(way);
  options.segment_bytes = kSegmentBytes;
  options.most_cost_measurements = 1;
  options.timeout = absl::Seconds(60);
  return options;
}

// Room for floats to be reduced in the way of the test. All ranks make theirs at once.
class Floats {
 public:
  Floats(const Way& way, Communicator* communicator, size_t capacity) : private_(capacity) {
    if (!way.allocated) return;
    absl::StatusOr<std::unique_ptr<CollectiveBuffer>> buffer =
        communicator->Allocate(capacity * sizeof(float));
    EXPECT_OK(buffer.status());
    if (buffer.ok()) allocated_ = *std::move(buffer);
  }

  // At an odd place.
  absl::Span<float> span(size_t size) {
    const absl::Span<float> all = allocated_ != nullptr ? allocated_->floats() : absl::MakeSpan(private_);
    return all.subspan((all.size() - size) / 3, size);
  }

 private:
  std::vector<float> private_;
  std::unique_ptr<CollectiveBuffer> allocated_;
};

// 0, 1, around the number of ranks, primes, around one segment per chunk, several segments.
std::vector<size_t> Counts(int n) {
  const size_t ranks = n;
  const size_t segment = ranks * kSegmentBytes / sizeof(float);
  return {0, 1, ranks - 1, ranks, ranks + 1, 7, 101, segment - 1, segment, segment + 1, 5 * segment + 3};
}

// Differs for every (rank, index), and sums of 16 are exact in float.
int Value(int rank, size_t index) { return static_cast<int>((index * 37 + rank * 1009) % 65536) + 1; }
int64_t SumOfValues(int n, size_t index) {
  int64_t sum = 0;
  for (int rank = 0; rank < n; ++rank) sum += Value(rank, index);
  return sum;
}

void ExpectExactSums(Communicator* communicator, size_t num_doubles, absl::Span<float> floats) {
  const size_t num_floats = floats.size();
  std::vector<double> doubles(num_doubles);
  for (size_t i = 0; i < num_doubles; ++i) doubles[i] = Value(communicator->rank(), i);
  for (size_t i = 0; i < num_floats; ++i) floats[i] = static_cast<float>(Value(communicator->rank(), i + 7));
  ASSERT_OK(communicator->AllReduce({absl::MakeSpan(doubles), floats}));
  const int n = communicator->world_size();
  for (size_t i = 0; i < num_doubles; ++i) {
    ASSERT_EQ(doubles[i], SumOfValues(n, i))
        << "rank " << communicator->rank() << " of " << n << " double " << i;
  }
  for (size_t i = 0; i < num_floats; ++i) {
    ASSERT_EQ(floats[i], SumOfValues(n, i + 7))
        << "rank " << communicator->rank() << " of " << n << " float " << i;
  }
}

class AllReduceTest : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(All, AllReduceTest, ::testing::ValuesIn(kWays),
                         [](const ::testing::TestParamInfo<Way>& info) { return info.param.name; });

TEST_P(AllReduceTest, IsExactForAnyWorldSizeAndLength) {
  for (int n : kWorldSizes) {
    RunOnRanks(MakeInProcessGroup(n), SmallSegments(GetParam()), [n](Communicator* communicator) {
      const std::vector<size_t> counts = Counts(n);
      Floats memory(GetParam(), communicator, *std::max_element(counts.begin(), counts.end()));
      for (size_t floats : counts) {
        for (size_t doubles : {size_t{0}, size_t{1}, size_t{3}, size_t{50}}) {
          ExpectExactSums(communicator, doubles, memory.span(floats));
        }
      }
    });
  }
}

TEST_P(AllReduceTest, A21FewerElementsThanRanksAndLengthsThatDoNotDivide) {
  RunOnRanks(MakeInProcessGroup(4), SmallSegments(GetParam()), [](Communicator* communicator) {
    Floats memory(GetParam(), communicator, 1023);
    for (size_t length : {1, 2, 3, 4, 5, 7, 1023}) {
      const absl::Span<float> values = memory.span(length);
      for (size_t i = 0; i < length; ++i)
        values[i] = static_cast<float>((communicator->rank() + 1) * (i + 1));
      ASSERT_OK(communicator->AllReduce({{}, values}));
      for (size_t i = 0; i < length; ++i) ASSERT_EQ(values[i], 10.0f * static_cast<float>(i + 1));
    }
  });
}

// Any two orders of summation of n values differ by at most (n-1) eps sum|x| to first order.
TEST_P(AllReduceTest, RandomFloatsAreSummedWithinRoundingAndAlikeOnAllRanksAndInAllRuns) {
  constexpr size_t kCount = 10007;
  for (int n : {2, 3, 7, 16}) {
    const auto value = [](int rank, size_t i) {
      return UnitFloat(Philox(5, RandomPurpose::kSynthetic, rank, i)[0]) - 0.5f;
    };
    std::vector<std::vector<float>> results(2 * n, std::vector<float>(kCount));
    for (int run = 0; run < 2; ++run) {
      RunOnRanks(MakeInProcessGroup(n), SmallSegments(GetParam()), [&](Communicator* communicator) {
        Floats memory(GetParam(), communicator, kCount);
        const absl::Span<float> mine = memory.span(kCount);
        for (size_t i = 0; i < kCount; ++i) mine[i] = value(communicator->rank(), i);
        ASSERT_OK(communicator->AllReduce({{}, mine}));
        results[run * n + communicator->rank()].assign(mine.begin(), mine.end());
      });
    }
    for (size_t i = 0; i < kCount; ++i) {
      double sum = 0, magnitude = 0;
      for (int rank = 0; rank < n; ++rank) {
        sum += value(rank, i);
        magnitude += std::abs(value(rank, i));
      }
      ASSERT_NEAR(results[0][i], sum, (n - 1) * 0x1p-23 * magnitude) << i;
    }
    for (const std::vector<float>& other : results) {
      EXPECT_EQ(std::memcmp(other.data(), results[0].data(), kCount * sizeof(float)), 0);
    }
  }
}

// The documented order of summation, element by element.
TEST_P(AllReduceTest, ChunkCIsSummedInRingOrderFromRankCPlus1) {
  constexpr int kRanks = 5;
  constexpr size_t kPerChunk = 2000;  // more than is copied in shared memory
  const auto value = [](int rank, size_t i) {
    return UnitFloat(Philox(6, RandomPurpose::kSynthetic, rank, i)[0]) * 1e3f;
  };
  RunOnRanks(MakeInProcessGroup(kRanks), SmallSegments(GetParam()), [&](Communicator* communicator) {
    Floats memory(GetParam(), communicator, kRanks * kPerChunk);
    const absl::Span<float> mine = memory.span(kRanks * kPerChunk);
    for (size_t i = 0; i < mine.size(); ++i) mine[i] = value(communicator->rank(), i);
    ASSERT_OK(communicator->AllReduce({{}, mine}));
    for (size_t i = 0; i < mine.size(); ++i) {
      const int chunk = static_cast<int>(i / kPerChunk);
      float sum = value((chunk + 1) % kRanks, i);
      for (int k = 2; k <= kRanks; ++k) sum += value((chunk + k) % kRanks, i);
      ASSERT_EQ(mine[i], sum) << i;
    }
  });
}

TEST_P(AllReduceTest, A22EqualSizesAreNotMixedWhenMessagesAreDelayed) {
  constexpr int kRanks = 3;
  std::vector<std::unique_ptr<Transport>> group;
  for (std::unique_ptr<Transport>& transport : MakeInProcessGroup(kRanks)) {
    group.push_back(std::make_unique<ReorderTransport>(std::move(transport), 1 + group.size()));
  }
  RunOnRanks(std::move(group), SmallSegments(GetParam()), [](Communicator* communicator) {
    Floats memory(GetParam(), communicator, 1500);
    for (int step = 0; step < 50; ++step) {
      absl::Span<float> buckets[3];
      for (int b = 0; b < 3; ++b) {
        buckets[b] = memory.span(1500).subspan(500 * b, 500);
        for (size_t i = 0; i < 500; ++i) {
          buckets[b][i] = static_cast<float>(Value(communicator->rank(), 1000 * b + i + step));
        }
        communicator->StartAllReduce({{}, buckets[b]});
      }
      ASSERT_OK(communicator->WaitAll());
      for (int b = 0; b < 3; ++b) {
        for (size_t i = 0; i < 500; ++i) {
          ASSERT_EQ(buckets[b][i], SumOfValues(kRanks, 1000 * b + i + step)) << step << " " << b << " " << i;
        }
      }
    }
  });
}

// Also where AUTO chooses differently: what one rank sends in one hop is as long as what the other waits for
// in the first hop of a mesh.
TEST_P(AllReduceTest, RanksWithBuffersOfDifferentLengthsAllGetAnError) {
  CommunicatorOptions options = OptionsOf(GetParam());
  options.timeout = absl::Milliseconds(200);
  for (const size_t count : {size_t{1000}, size_t{64} << 10}) {
    RunOnRanks(MakeInProcessGroup(2), options, [count](Communicator* communicator) {
      Floats memory(GetParam(), communicator, 2 * count);
      const absl::Span<float> values = memory.span(communicator->rank() == 0 ? count : 2 * count);
      EXPECT_FALSE(communicator->AllReduce({{}, values}).ok()) << count;
    });
  }
}

struct CompressedWay {
  Way way;
  Compression compression;
};

class CompressionTest : public ::testing::TestWithParam<CompressedWay> {};

std::vector<CompressedWay> CompressedWays() {
  std::vector<CompressedWay> ways;
  for (const Compression compression : {Compression::kBfloat16, Compression::kFloat16}) {
    for (const Way& way : kWays) {
      if (way.algorithm != Algorithm::kRing) ways.push_back({way, compression});
    }
  }
  return ways;
}

INSTANTIATE_TEST_SUITE_P(All, CompressionTest, ::testing::ValuesIn(CompressedWays()),
                         [](const ::testing::TestParamInfo<CompressedWay>& info) {
                           return absl::StrCat(
                               info.param.way.name,
                               info.param.compression == Compression::kBfloat16 ? "Bf16" : "Fp16");
                         });

// Neither exact in 16 bits nor are its sums.
float UnevenValue(int rank, size_t i) { return std::sin(static_cast<float>(i * 7 + rank * 13) + 0.5f); }

TEST_P(CompressionTest, IsTheRoundedSumInRingOrderOfRoundedValues) {
  const Compression compression = GetParam().compression;
  CommunicatorOptions options = SmallSegments(GetParam().way);
  options.compression = compression;
  for (int n : {2, 3, 5, 8}) {
    RunOnRanks(MakeInProcessGroup(n), options, [n, compression](Communicator* communicator) {
      Floats memory(GetParam().way, communicator, 5000);
      for (size_t count : {0, 1, n - 1, 7, 101, 5000}) {
        const absl::Span<float> values = memory.span(count);
        std::vector<double> doubles(count % 9);
        for (size_t i = 0; i < doubles.size(); ++i) doubles[i] = 0.1 + communicator->rank();
        for (size_t i = 0; i < count; ++i) values[i] = UnevenValue(communicator->rank(), i);
        ASSERT_OK(communicator->AllReduce({absl::MakeSpan(doubles), values}));
        for (int chunk = 0; chunk < n; ++chunk) {
          for (size_t i = count * chunk / n; i < count * (chunk + 1) / n; ++i) {
            float sum = 0;
            for (int k = 1; k <= n; ++k) {
              float value = UnevenValue((chunk + k) % n, i);
              RoundInPlace(compression, absl::MakeSpan(&value, 1));
              sum += value;
            }
            RoundInPlace(compression, absl::MakeSpan(&sum, 1));
            ASSERT_EQ(values[i], sum) << "rank " << communicator->rank() << " of " << n << " element " << i;
          }
        }
        for (const double sum : doubles) ASSERT_NEAR(sum, 0.1 * n + n * (n - 1) / 2, 1e-12);
      }
    });
  }
}

TEST(CommunicatorTest, CompressionHalvesTheBytes) {
  CommunicatorOptions options = OptionsOf({"Mesh", Algorithm::kMesh});
  options.compression = Compression::kBfloat16;
  RunOnRanks(MakeInProcessGroup(4), options, [](Communicator* communicator) {
    std::vector<float> values(4000);
    ASSERT_OK(communicator->AllReduce({{}, absl::MakeSpan(values)}));
    EXPECT_EQ(communicator->stats().bytes_sent, 2 * 3 * 2000);
  });
}

TEST(CommunicatorTest, OneRankAloneRoundsNothing) {
  CommunicatorOptions options;
  options.compression = Compression::kBfloat16;
  RunOnRanks(MakeInProcessGroup(1), options, [](Communicator* communicator) {
    float value = 1.2345678f;
    ASSERT_OK(communicator->AllReduce({{}, absl::MakeSpan(&value, 1)}));
    EXPECT_EQ(value, 1.2345678f);
  });
}

// What is not an all-reduce depends on the medium alone.
class MediumTest : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(All, MediumTest, ::testing::Values(kRing, kWays[5]),
                         [](const ::testing::TestParamInfo<Way>& info) { return info.param.name; });

TEST_P(MediumTest, BroadcastGivesEveryRankTheRootsBytes) {
  for (int n : {1, 2, 3, 5, 16}) {
    RunOnRanks(MakeInProcessGroup(n), SmallSegments(GetParam()), [n](Communicator* communicator) {
      for (size_t size : {0, 1, 63, 64, 65, 1000}) {
        for (int root = 0; root < n; ++root) {
          std::vector<std::byte> bytes(size), expected(size);
          for (size_t i = 0; i < size; ++i) {
            bytes[i] = static_cast<std::byte>(communicator->rank() * 17 + i);
            expected[i] = static_cast<std::byte>(root * 17 + i);
          }
          ASSERT_OK(communicator->Broadcast(root, absl::MakeSpan(bytes)));
          ASSERT_TRUE(bytes == expected) << n << " " << root << " " << size;
        }
      }
    });
  }
}

TEST(CommunicatorTest, BroadcastRefusesARootThatDoesNotExist) {
  RunOnRanks(MakeInProcessGroup(2), SmallSegments(), [](Communicator* communicator) {
    EXPECT_THAT(communicator->Broadcast(2, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
    EXPECT_OK(communicator->Barrier());
  });
}

TEST_P(MediumTest, AllGatherKeepsSizesAndOrder) {
  for (int n : {1, 2, 3, 5, 16}) {
    RunOnRanks(MakeInProcessGroup(n), SmallSegments(GetParam()), [n](Communicator* communicator) {
      const auto text = [](int rank) { return std::string(static_cast<size_t>(rank % 3 * 70), 'a' + rank); };
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> all,
                           communicator->AllGather(text(communicator->rank())));
      ASSERT_EQ(all.size(), static_cast<size_t>(n));
      for (int rank = 0; rank < n; ++rank) EXPECT_EQ(all[rank], text(rank));
    });
  }
}

TEST_P(MediumTest, NobodyLeavesABarrierBeforeTheLastHasCome) {
  constexpr int kRanks = 5;
  Mutex mutex;
  int arrived[20] = {};
  RunOnRanks(MakeInProcessGroup(kRanks), SmallSegments(GetParam()), [&](Communicator* communicator) {
    for (int round = 0; round < 20; ++round) {
      {
        MutexLock lock(&mutex);
        ++arrived[round];
      }
      ASSERT_OK(communicator->Barrier());
      MutexLock lock(&mutex);
      EXPECT_EQ(arrived[round], kRanks);
    }
  });
}

TEST(CommunicatorTest, SharedMemoryCarriesNoBytesOverATransport) {
  RunOnRanks(MakeInProcessGroup(4), OptionsOf(kWays[6]), [](Communicator* communicator) {
    EXPECT_EQ(communicator->medium(), "shared memory");
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CollectiveBuffer> buffer, communicator->Allocate(16000));
    ASSERT_OK(communicator->AllReduce({{}, buffer->floats()}));
    EXPECT_EQ(communicator->stats().bytes_sent, 0);
  });
}

// A program that fits again and again allocates again and again.
TEST(CommunicatorTest, SharedMemoryThatAllHaveReleasedIsGivenBack) {
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) count += absl::StrContains(line, "memfd:lockstep");
    return count;
  };
  RunOnRanks(MakeInProcessGroup(2), OptionsOf(kWays[6]), [&](Communicator* communicator) {
    std::unique_ptr<CollectiveBuffer> kept, buffer;
    ASSERT_OK_AND_ASSIGN(kept, communicator->Allocate(4000));
    int mappings_of_one = 0;
    for (int i = 0; i < 10; ++i) {
      buffer.reset();
      ASSERT_OK_AND_ASSIGN(buffer, communicator->Allocate(8000));
      std::fill(kept->floats().begin(), kept->floats().end(), 1.0f);
      ASSERT_OK(communicator->AllReduce({{}, kept->floats()}));
      ASSERT_OK(communicator->AllReduce({{}, buffer->floats()}));
      EXPECT_EQ(kept->floats()[999], 2.0f);
      if (i == 0) mappings_of_one = mappings();
      EXPECT_EQ(mappings(), mappings_of_one);
      ASSERT_OK(communicator->Barrier());
    }
  });
}

// Nor is one that a rank alone believes to be shared ever taken for shared.
TEST(CommunicatorTest, AllRanksReduceSharedBuffersOrNone) {
  CommunicatorOptions options = OptionsOf(kWays[6]);
  options.timeout = absl::Milliseconds(200);
  RunOnRanks(MakeInProcessGroup(2), options, [](Communicator* communicator) {
    Floats shared(kWays[6], communicator, 1000);
    std::vector<float> own(1000);
    const absl::Span<float> values = communicator->rank() == 0 ? shared.span(1000) : absl::MakeSpan(own);
    EXPECT_THAT(communicator->AllReduce({{}, values}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("an all-reduce in shared memory of 0 doubles and 1000 floats"),
                               HasSubstr("all ranks must run the same operations"))));
  });
}

TEST(CommunicatorTest, StatsCountBytesOnTheWire) {
  RunOnRanks(MakeInProcessGroup(4), SmallSegments(), [](Communicator* communicator) {
    std::vector<float> values(4000);
    ASSERT_OK(communicator->AllReduce({{}, absl::MakeSpan(values)}));
    const CommunicatorStats stats = communicator->stats();
    EXPECT_EQ(stats.operations, 1);
    EXPECT_EQ(stats.bytes_sent, 2 * 3 * 4000);  // 2(n-1)/n of 16000 bytes
    EXPECT_GT(stats.busy, absl::ZeroDuration());
    EXPECT_GT(stats.exposed, absl::ZeroDuration());
  });
}

TEST(CommunicatorTest, AutoHasMeasuredTheAlgorithmsAndAllRanksChooseAlike) {
  Mutex mutex;
  std::vector<std::string> algorithms;
  RunOnRanks(MakeInProcessGroup(4), OptionsOf({"Auto"}), [&](Communicator* communicator) {
    EXPECT_EQ(communicator->stats().bytes_sent, 0);  // measuring is not the caller's
    MutexLock lock(&mutex);
    algorithms.push_back(communicator->algorithms());
  });
  EXPECT_THAT(algorithms, ::testing::SizeIs(4));
  EXPECT_THAT(algorithms, ::testing::Each(algorithms[0]));
  EXPECT_THAT(algorithms[0], ::testing::MatchesRegex("(ring|mesh|one hop)(, (ring|mesh|one hop) from .*)*"));
  RunOnRanks(MakeInProcessGroup(2), OptionsOf(kRing),
             [](Communicator* communicator) { EXPECT_EQ(communicator->algorithms(), ""); });
}

TEST(CommunicatorTest, OneRankAloneNeedsNobody) {
  RunOnRanks(MakeInProcessGroup(1), CommunicatorOptions(), [](Communicator* communicator) {
    std::vector<float> values = {1, 2};
    std::vector<std::byte> bytes(5);
    EXPECT_OK(communicator->AllReduce({{}, absl::MakeSpan(values)}));
    EXPECT_EQ(values, (std::vector<float>{1, 2}));
    EXPECT_OK(communicator->Broadcast(0, absl::MakeSpan(bytes)));
    EXPECT_OK(communicator->Barrier());
    EXPECT_EQ(communicator->stats().bytes_sent, 0);
  });
}

TEST(CommunicatorTest, ATimeoutSaysWhatWasWaitedFor) {
  CommunicatorOptions options = SmallSegments();
  options.timeout = absl::Milliseconds(50);
  options.stall_warning = absl::Milliseconds(20);
  std::vector<std::unique_ptr<Transport>> group = MakeInProcessGroup(2);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Communicator> communicator,
                       Communicator::Create(std::move(group[0]), options));
  std::vector<float> values(100);
  const absl::Status status = communicator->AllReduce({{}, absl::MakeSpan(values)});
  EXPECT_THAT(
      status,
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               AllOf(HasSubstr("no progress for 50ms"), HasSubstr("all-reduce 0 of 400 bytes"),
                     HasSubstr("waiting for rank 1 at step 0 segment 0"), HasSubstr("timeout_seconds"))));
  EXPECT_EQ(communicator->Barrier(), status);
}

TEST(CommunicatorTest, ATimeoutInSharedMemorySaysWhatWasWaitedFor) {
  CommunicatorOptions options = OptionsOf(kWays[6]);
  options.timeout = absl::Milliseconds(50);
  options.stall_warning = absl::Milliseconds(20);
  Mutex mutex;
  bool over = false;
  RunOnRanks(MakeInProcessGroup(2), options, [&](Communicator* communicator) {
    MutexLock lock(&mutex);
    if (communicator->rank() == 1) {
      mutex.Await(Condition(&over));
      return;
    }
    std::vector<float> values(100);
    const absl::Status status = communicator->AllReduce({{}, absl::MakeSpan(values)});
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                                 AllOf(HasSubstr("no progress for 50ms"),
                                       HasSubstr("an all-reduce of 0 doubles and 100 floats"),
                                       HasSubstr("waiting for rank 1"), HasSubstr("timeout_seconds"))));
    EXPECT_EQ(LostRank(status), 1);
    EXPECT_EQ(communicator->Barrier(), status);
    over = true;
  });
}

TEST(CommunicatorTest, AbortEndsWhatIsUnderWayAndEverythingLater) {
  std::vector<std::unique_ptr<Transport>> group = MakeInProcessGroup(2);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Communicator> communicator,
                       Communicator::Create(std::move(group[0]), OptionsOf(kRing)));
  std::vector<float> values(100);
  communicator->StartAllReduce({{}, absl::MakeSpan(values)});
  communicator->StartAllReduce({{}, absl::MakeSpan(values)});
  communicator->Abort(absl::CancelledError("user's wish"));
  EXPECT_THAT(communicator->WaitAll(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("user's wish")));
  EXPECT_THAT(communicator->Barrier(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("user's wish")));
}

TEST(CommunicatorTest, DestructionEndsWhatIsUnderWay) {
  std::vector<std::unique_ptr<Transport>> group = MakeInProcessGroup(2);
  std::vector<float> values(100);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Communicator> communicator,
                       Communicator::Create(std::move(group[0]), OptionsOf(kRing)));
  communicator->StartAllReduce({{}, absl::MakeSpan(values)});
}

TEST(CommunicatorTest, RefusesOptionsThatMakeNoSense) {
  const auto create = [](CommunicatorOptions options) {
    return Communicator::Create(std::move(MakeInProcessGroup(1)[0]), options);
  };
  CommunicatorOptions options;
  options.segment_bytes = 12;
  EXPECT_THAT(create(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("segment_bytes is 12")));
  options = CommunicatorOptions();
  options.timeout = absl::ZeroDuration();
  EXPECT_THAT(create(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout 0")));
  options = OptionsOf(kRing);
  options.compression = Compression::kFloat16;
  EXPECT_THAT(create(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("partial sums")));
  options = CommunicatorOptions();
  options.window = 0;
  EXPECT_THAT(create(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("window is 0")));
  options = CommunicatorOptions();
  options.most_cost_measurements = 0;
  EXPECT_THAT(create(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("most_cost_measurements")));
  EXPECT_THAT(Communicator::Create(nullptr, CommunicatorOptions()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a transport")));
}

}  // namespace
}  // namespace lockstep

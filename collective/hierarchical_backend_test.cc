#include "collective/hierarchical_backend.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/mutex.h"
#include "collective/peer_lost.h"
#include "collective/run_on_ranks.h"
#include "collective/transport/in_process_transport.h"
#include "gmock/gmock.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kCount = 6001;

TEST(HostsTest, RanksAreGroupedInTheOrderOfTheHostsFirstRanks) {
  EXPECT_THAT(GroupByHost({7, 3, 7, 5, 3}),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 4), ElementsAre(3)));
  EXPECT_THAT(GroupByHost({}), ElementsAre());
}

TEST(HostsTest, AHierarchyHasSeveralHostsAndSeveralRanksOnOne) {
  EXPECT_FALSE(IsHierarchy(GroupByHost({})));
  EXPECT_FALSE(IsHierarchy(GroupByHost({1, 1, 1})));
  EXPECT_FALSE(IsHierarchy(GroupByHost({1, 2, 3})));
  EXPECT_TRUE(IsHierarchy(GroupByHost({1, 2, 1})));
  EXPECT_EQ(NumShares(GroupByHost({1, 1, 2, 2, 2})), 2);
  EXPECT_EQ(NumShares(GroupByHost({1, 1, 2})), 1);
}

// Which ranks are on which host; whether those of a host share memory; whether the floats lie in it.
struct Layout {
  std::vector<int> hosts;
  SharedMemoryUse shared_memory;
  bool allocated;
};

CommunicatorOptions OptionsOf(const Layout& layout, Compression compression = Compression::kNone) {
  CommunicatorOptions options;
  options.host_of_rank = layout.hosts;
  options.shared_memory = layout.shared_memory;
  options.compression = compression;
  options.segment_bytes = 4096;  // several of kCount
  options.most_cost_measurements = 1;
  return options;
}

// Calls the function on each rank with room for so many floats.
void RunOn(const Layout& layout, size_t count, Compression compression,
           const std::function<void(Communicator*, absl::Span<float>)>& function) {
  RunOnRanks(MakeInProcessGroup(static_cast<int>(layout.hosts.size())), OptionsOf(layout, compression),
             [&](Communicator* communicator) {
               std::vector<float> own(count);
               ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CollectiveBuffer> buffer,
                                    communicator->Allocate(count * sizeof(float)));
               function(communicator, layout.allocated ? buffer->floats() : absl::MakeSpan(own));
             });
}

// What each rank has after an all-reduce of numbers that are not exact.
std::vector<std::vector<float>> SumsOfUnevenNumbers(const Layout& layout, Compression compression) {
  std::vector<std::vector<float>> sums(layout.hosts.size());
  RunOn(layout, kCount, compression, [&sums](Communicator* communicator, absl::Span<float> values) {
    const int rank = communicator->rank();
    for (size_t i = 0; i < kCount; ++i) values[i] = std::sin(static_cast<float>(i * 7 + rank * 13) + 0.5f);
    ASSERT_OK(communicator->AllReduce({{}, values}));
    sums[rank].assign(values.begin(), values.end());
  });
  return sums;
}

class HierarchicalTest : public ::testing::TestWithParam<Layout> {
 protected:
  int num_ranks() const { return static_cast<int>(GetParam().hosts.size()); }
};

std::vector<Layout> Layouts() {
  std::vector<Layout> layouts;
  for (const std::vector<int>& hosts : {std::vector<int>{0, 0, 1, 1},
                                        {0, 1, 0, 1},
                                        {0, 0, 1},
                                        {0, 1, 1, 1},
                                        {0, 0, 0, 1, 1},
                                        {0, 1, 2, 1, 0, 2}}) {
    layouts.push_back({hosts, SharedMemoryUse::kNever, false});
    layouts.push_back({hosts, SharedMemoryUse::kAuto, false});
    layouts.push_back({hosts, SharedMemoryUse::kAuto, true});
  }
  return layouts;
}

INSTANTIATE_TEST_SUITE_P(All, HierarchicalTest, ::testing::ValuesIn(Layouts()),
                         [](const ::testing::TestParamInfo<Layout>& info) {
                           return absl::StrCat(
                               "Hosts", absl::StrJoin(info.param.hosts, ""),
                               info.param.shared_memory == SharedMemoryUse::kNever ? "Messages" : "Shared",
                               info.param.allocated ? "Allocated" : "");
                         });

TEST_P(HierarchicalTest, SumsAreExactForAnyLength) {
  const int n = num_ranks();
  RunOn(GetParam(), kCount, Compression::kNone, [n](Communicator* communicator, absl::Span<float> memory) {
    const int rank = communicator->rank();
    const int ranks = n * (n - 1) / 2;
    for (const size_t count : std::vector<size_t>{0, 1, 2, 3, 5, 64, kCount}) {
      const absl::Span<float> floats = memory.first(count);
      for (const size_t num_doubles : {0, 1, 9}) {
        std::vector<double> doubles(num_doubles);
        for (size_t i = 0; i < num_doubles; ++i) doubles[i] = static_cast<double>(i * 100 + rank);
        for (size_t i = 0; i < count; ++i) floats[i] = static_cast<float>(i * 10 + rank);
        ASSERT_OK(communicator->AllReduce({absl::MakeSpan(doubles), floats}));
        for (size_t i = 0; i < num_doubles; ++i) ASSERT_EQ(doubles[i], i * 100 * n + ranks) << i;
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(floats[i], i * 10 * n + ranks) << i << " of " << count;
      }
    }
  });
}

TEST_P(HierarchicalTest, AllRanksHaveTheBitsThatMessagesGive) {
  for (const Compression compression : {Compression::kNone, Compression::kBfloat16}) {
    const std::vector<std::vector<float>> sums = SumsOfUnevenNumbers(GetParam(), compression);
    for (const std::vector<float>& sum : sums) ASSERT_EQ(sum, sums[0]);
    const Layout by_messages = {GetParam().hosts, SharedMemoryUse::kNever, false};
    EXPECT_EQ(SumsOfUnevenNumbers(by_messages, compression)[0], sums[0]);
  }
}

TEST_P(HierarchicalTest, OtherOperationsReachAllRanks) {
  RunOn(GetParam(), 1, Compression::kNone, [this](Communicator* communicator, absl::Span<float>) {
    const int last = num_ranks() - 1;
    std::vector<std::byte> bytes(1000, static_cast<std::byte>(communicator->rank()));
    ASSERT_OK(communicator->Broadcast(last, absl::MakeSpan(bytes)));
    EXPECT_EQ(bytes, std::vector<std::byte>(1000, static_cast<std::byte>(last)));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> all,
                         communicator->AllGather(absl::StrCat("of ", communicator->rank())));
    for (int rank = 0; rank <= last; ++rank) EXPECT_EQ(all[rank], absl::StrCat("of ", rank));
    EXPECT_OK(communicator->Barrier());
  });
}

constexpr size_t kFloats = 4000;

TEST(HierarchicalCommunicatorTest, EachByteCrossesTheNetworkOncePerHost) {
  RunOnRanks(MakeInProcessGroup(4), OptionsOf({{0, 0, 1, 1}, SharedMemoryUse::kAuto, false}),
             [](Communicator* communicator) {
               std::vector<float> values(kFloats);
               const int64_t before = communicator->stats().bytes_sent;
               ASSERT_OK(communicator->AllReduce({{}, absl::MakeSpan(values)}));
               // Two ranks of a host send the buffer once, together: 2 (2-1)/2.
               EXPECT_EQ(communicator->stats().bytes_sent - before, kFloats * sizeof(float) / 2);
             });
}

TEST(HierarchicalCommunicatorTest, SaysHowEachPairExchanges) {
  RunOnRanks(MakeInProcessGroup(3), OptionsOf({{0, 1, 1}, SharedMemoryUse::kAuto, false}),
             [](Communicator* communicator) {
               EXPECT_EQ(communicator->medium(), "messages between 2 hosts, shared memory within");
               const std::string expected[] = {"-pp", "p-s", "ps-"};
               EXPECT_EQ(communicator->paths(), expected[communicator->rank()]);
             });
  RunOnRanks(MakeInProcessGroup(3), OptionsOf({{0, 1, 1}, SharedMemoryUse::kNever, false}),
             [](Communicator* communicator) {
               const std::string expected[] = {"-pp", "p-p", "pp-"};
               EXPECT_EQ(communicator->paths(), expected[communicator->rank()]);
             });
}

TEST(HierarchicalCommunicatorTest, TheRingIsARingOfAllRanks) {
  CommunicatorOptions options = OptionsOf({{0, 0, 1, 1}, SharedMemoryUse::kNever, false});
  options.algorithm = Algorithm::kRing;
  RunOnRanks(MakeInProcessGroup(4), options, [](Communicator* communicator) {
    EXPECT_EQ(communicator->medium(), "messages");
    std::vector<float> values(kFloats);
    ASSERT_OK(communicator->AllReduce({{}, absl::MakeSpan(values)}));
    EXPECT_EQ(communicator->stats().bytes_sent, kFloats * sizeof(float) * 2 * 3 / 4);
  });
}

// Rank 3 is the second one of the second host.
TEST(HierarchicalCommunicatorTest, ATimeoutNamesTheRankAsTheJobCallsIt) {
  for (const SharedMemoryUse shared_memory : {SharedMemoryUse::kNever, SharedMemoryUse::kAuto}) {
    CommunicatorOptions options = OptionsOf({{0, 0, 1, 1}, shared_memory, false});
    options.timeout = absl::Seconds(1);
    Mutex mutex;
    bool over = false;
    RunOnRanks(MakeInProcessGroup(4), options, [&](Communicator* communicator) {
      MutexLock lock(&mutex);
      if (communicator->rank() != 2) return mutex.Await(Condition(&over));
      std::vector<float> values(100);
      const absl::Status status = communicator->AllReduce({{}, absl::MakeSpan(values)});
      EXPECT_THAT(status,
                  StatusIs(absl::StatusCode::kDeadlineExceeded,
                           AllOf(HasSubstr("rank 2 made no progress"), HasSubstr("waiting for rank 3"))));
      EXPECT_EQ(LostRank(status), 3);
      over = true;
    });
  }
}

TEST(HierarchicalCommunicatorTest, RefusesHostsOfAnotherNumberOfRanks) {
  CommunicatorOptions options = OptionsOf({{0, 0}, SharedMemoryUse::kNever, false});
  EXPECT_THAT(Communicator::Create(std::move(MakeInProcessGroup(1)[0]), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hosts of 2 ranks in a group of 1")));
}

}  // namespace
}  // namespace lockstep

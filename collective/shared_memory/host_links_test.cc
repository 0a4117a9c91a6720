#include "collective/shared_memory/host_links.h"

#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "proto/collective.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;  // 0, 1, 2, of a group that is a part of another
const RankNames kNames = {4, 5, 6};
const FileDescriptor kNone;

// An all-gather between threads, with a chance to change what a rank says in the first one, its host card.
class Exchange {
 public:
  Gather ForRank(int rank, std::function<void(v1::HostCard*)> change) {
    return [this, rank, change, round = 0](const std::string& mine) mutable {
      std::string said = mine;
      if (round++ == 0 && change) {
        v1::HostCard card;
        EXPECT_TRUE(card.ParseFromString(mine));
        change(&card);
        said = card.SerializeAsString();
      }
      return Run(rank, said);
    };
  }

 private:
  absl::StatusOr<std::vector<std::string>> Run(int rank, const std::string& said) {
    MutexLock lock(&mutex_);
    const int64_t round = arrived_ / kRanks;
    if (arrived_ % kRanks == 0) said_.emplace_back(kRanks);
    said_[round][rank] = said;
    ++arrived_;
    const auto complete = [this, round]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return arrived_ >= (round + 1) * kRanks;
    };
    mutex_.Await(Condition(&complete));
    return said_[round];
  }

  Mutex mutex_;
  int64_t arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::vector<std::string>> said_ ABSL_GUARDED_BY(mutex_);
};

struct Outcome {
  std::string obstacle;
  std::vector<LocalSocket> links;
};

std::vector<Outcome> Connect(const std::function<void(v1::HostCard*)>& change_of_rank_1) {
  Exchange exchange;
  std::vector<Outcome> outcomes(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const Gather gather = exchange.ForRank(rank, rank == 1 ? change_of_rank_1 : nullptr);
      ASSERT_OK_AND_ASSIGN(outcomes[rank].obstacle,
                           ConnectHostLinks(rank, kNames, gather, &outcomes[rank].links));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST(HostLinksTest, ConnectsEveryRankWithEveryOther) {
  std::vector<Outcome> outcomes = Connect(nullptr);
  for (int from = 0; from < kRanks; ++from) {
    EXPECT_EQ(outcomes[from].obstacle, "");
    for (int to = 0; to < kRanks; ++to) {
      if (to == from) continue;
      ASSERT_OK(outcomes[from].links[to].Send(absl::StrCat(from), kNone));
      ASSERT_OK_AND_ASSIGN(const LocalMessage message,
                           outcomes[to].links[from].Receive(absl::Now() + absl::Seconds(20)));
      EXPECT_EQ(message.bytes, absl::StrCat(from));
    }
  }
}

void ExpectObstacle(const std::vector<Outcome>& outcomes, const std::string& obstacle) {
  for (const Outcome& outcome : outcomes) {
    EXPECT_THAT(outcome.obstacle, HasSubstr(obstacle));
    EXPECT_TRUE(outcome.links.empty());
  }
}

TEST(HostLinksTest, ARankOnAnotherHostIsNamedToAll) {
  ExpectObstacle(Connect([](v1::HostCard* card) { card->set_boot_id("elsewhere"); }),
                 "rank 4: rank 5 is on another host");
}

TEST(HostLinksTest, ARankInAnotherNetworkNamespaceIsNamedToAll) {
  ExpectObstacle(
      Connect([](v1::HostCard* card) { card->set_socket_name("lockstep-nowhere"); }),
      "rank 6: rank 5 cannot be reached on this host, as if in another container (connecting to a local "
      "socket: Connection refused)");
}

// Rank 2 then greets with a token that is not rank 1's: rank 1 turns it away, as it would a stranger.
TEST(HostLinksTest, AStrangerIsTurnedAway) {
  ExpectObstacle(Connect([](v1::HostCard* card) { card->set_token("guessed"); }), "rank 5: ");
}

}  // namespace
}  // namespace lockstep

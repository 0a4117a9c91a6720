#include "tools/cluster_table.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trainer.pb.h"

namespace lockstep {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

v1::Cluster::Member Member(int rank, const std::string& state) {
  v1::Cluster::Member member;
  member.set_rank(rank);
  member.set_address("node:530" + std::to_string(rank));
  member.set_task("worker:" + std::to_string(rank));
  member.set_state(state);
  member.set_is_chief(rank == 0);
  return member;
}

TEST(ClusterTableTest, SaysThatAllHaveJoined) {
  v1::Cluster cluster;
  for (const int rank : {0, 1}) *cluster.add_members() = Member(rank, "joined");
  EXPECT_EQ(ClusterTable(cluster),
            "rank  task        address    state   version  pid  host  detail\n"
            "   0  worker:0 *  node:5300  joined\n"
            "   1  worker:1    node:5301  joined\n"
            "All 2 ranks have joined.\n");
}

TEST(ClusterTableTest, SaysHowTheRanksExchanged) {
  v1::Cluster cluster;
  cluster.add_members()->set_state("joined");
  cluster.set_exchange("messages: rank 1 is on another host");
  EXPECT_THAT(ClusterTable(cluster),
              EndsWith("In the last job the ranks exchanged by messages: rank 1 is on another host.\n"));
}

TEST(ClusterTableTest, SaysWhichPathEveryPairTook) {
  v1::Cluster cluster;
  cluster.set_exchange("messages");
  for (const char* row : {"-t", "t-"}) cluster.add_paths(row);
  EXPECT_THAT(ClusterTable(cluster),
              EndsWith("In the last job the ranks exchanged by messages, every pair over TCP.\n"));
  cluster.set_exchange("shared memory");
  cluster.clear_paths();
  for (const char* row : {"-s", "s-"}) cluster.add_paths(row);
  EXPECT_THAT(ClusterTable(cluster), EndsWith("In the last job the ranks exchanged by shared memory.\n"));
}

TEST(ClusterTableTest, PathsThatDifferAreATable) {
  v1::Cluster cluster;
  cluster.set_exchange("messages between 2 hosts, shared memory within");
  for (const char* row : {"-st", "s-u", "tu-"}) cluster.add_paths(row);
  EXPECT_THAT(ClusterTable(cluster),
              EndsWith("exchanged by messages between 2 hosts, shared memory within.\n"
                       "Each pair over s = shared memory, t = TCP, u = unix-domain sockets:\n"
                       "rank  0  1  2\n"
                       "   0  -  s  t\n"
                       "   1  s  -  u\n"
                       "   2  t  u  -\n"));
}

TEST(ClusterTableTest, NamesTheMissingAndWhy) {
  v1::Cluster cluster;
  *cluster.add_members() = Member(0, "joined");
  *cluster.add_members() = Member(1, "missing");
  cluster.mutable_members(1)->set_detail("connection refused");
  EXPECT_THAT(ClusterTable(cluster), HasSubstr("connection refused\n"));
  EXPECT_THAT(ClusterTable(cluster), EndsWith("1 of 2 ranks missing: 1 (node:5301)\n"));
}

TEST(ClusterTableTest, SaysThatTheChiefWasNotAsked) {
  v1::Cluster cluster;
  *cluster.add_members() = Member(0, "missing");
  cluster.set_error("rank 0 cannot be reached");
  EXPECT_THAT(ClusterTable(cluster), HasSubstr("The chief could not be asked: rank 0 cannot be reached"));
}

}  // namespace
}  // namespace lockstep

// How daemons find each other, and what they say when they cannot.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/cluster.h"
#include "test/files.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A mistake in the configuration is reported at once.
constexpr absl::Duration kRefusal = absl::Seconds(2);

class DaemonTest : public ::testing::Test {
 protected:
  std::unique_ptr<Daemon> Start(const std::string& tf_config, const std::vector<std::string>& flags = {}) {
    DaemonOptions options;
    options.tf_config = tf_config;
    options.flags = flags;
    options.log = absl::StrCat(directory_, "/", started_++, ".log");
    return std::make_unique<Daemon>(options);
  }

  // The one line of a daemon that refuses to start.
  std::string Refusal(const std::string& tf_config, const std::vector<std::string>& flags = {}) {
    const std::unique_ptr<Daemon> daemon = Start(tf_config, flags);
    EXPECT_EQ(daemon->AwaitEnd(kRefusal), "exit code 2") << tf_config;
    const std::vector<std::string> lines = daemon->LogLines();
    EXPECT_EQ(lines.size(), 1u) << daemon->Log();
    return lines.empty() ? "" : lines[0];
  }

  const std::string directory_ = MakeTemporaryDirectory();
  int started_ = 0;
};

TEST_F(DaemonTest, A01WhatIsNoJsonIsRefusedWithThePlace) {
  EXPECT_THAT(Refusal("{'cluster':{'worker':['127.0.0.1:5301','127.0.0.1:5302']},"
                      "'task':{'type':'worker','index':0}}"),
              AllOf(HasSubstr("TF_CONFIG"), HasSubstr("JSON"), HasSubstr("'")));
  EXPECT_THAT(Refusal(R"({"cluster":{"worker":"127.0.0.1:5301,127.0.0.1:5302"},)"
                      R"("task":{"type":"worker","index":0}})"),
              HasSubstr("cluster.worker"));
}

TEST_F(DaemonTest, A02ATaskTypeThatIsNotInTheClusterIsRefused) {
  EXPECT_THAT(Refusal(R"({"cluster":{"worker":["127.0.0.1:5301","127.0.0.1:5302"]},)"
                      R"("task":{"type":"chief","index":0}})"),
              AllOf(HasSubstr("chief"), HasSubstr("worker")));
}

TEST_F(DaemonTest, A03TwoChiefsAreRefused) {
  EXPECT_THAT(Refusal(R"({"cluster":{"chief":["127.0.0.1:5301","127.0.0.1:5302"]},)"
                      R"("task":{"type":"chief","index":0}})"),
              HasSubstr("cluster.chief"));
}

TEST_F(DaemonTest, A05AddressesThatAreNoneAreRefusedBeforeAPortIsBound) {
  const std::vector<std::string> first = ChooseAddresses(1);
  for (const std::string& second :
       {std::string(""), std::string("127.0.0.1"), std::string("127.0.0.1:0"), std::string("127.0.0.1:70000"),
        std::string("grpc://127.0.0.1:5301"), std::string("127.0.0.1:53o1"), first[0]}) {
    EXPECT_THAT(Refusal(WorkerTfConfig({first[0], second}, 0)),
                AllOf(HasSubstr("cluster.worker[1]"), HasSubstr(second)));
  }
}

TEST_F(DaemonTest, AnAddressThatIsNotLoopbackNeedsTheWordOfTheUser) {
  EXPECT_THAT(Refusal(WorkerTfConfig({"192.0.2.1:5301"}, 0)), HasSubstr("--insecure_network"));
}

TEST_F(DaemonTest, FlagsThatCannotWorkAreRefusedInOneLine) {
  EXPECT_THAT(Refusal("", {"--join_timeout", "nan"}), HasSubstr("--join_timeout"));
  EXPECT_THAT(Refusal("", {"--join_timeout", "1e300"}), HasSubstr("--join_timeout"));
  EXPECT_THAT(Refusal("", {"--heartbeat_interval", "20"}),
              AllOf(HasSubstr("--heartbeat_timeout"), HasSubstr("--heartbeat_interval")));
  EXPECT_THAT(Refusal("", {"--job", ""}), HasSubstr("--job"));
  EXPECT_THAT(Refusal("", {"--data_root", "/nonexistent"}), HasSubstr("/nonexistent"));
  EXPECT_THAT(Refusal(WorkerTfConfig(ChooseAddresses(1), 0), {"--bind", "a:b:c"}), HasSubstr("--bind"));
  EXPECT_THAT(Refusal(WorkerTfConfig(ChooseAddresses(1), 0), {"--port", "77"}), HasSubstr("--port"));
  EXPECT_THAT(Refusal("", {"--congestion_control", "no_such"}),
              AllOf(HasSubstr("--congestion_control"), HasSubstr("reno")));
  EXPECT_THAT(Refusal("", {"--nonsense"}), HasSubstr("--nonsense"));
}

std::vector<std::string> Tasks(const v1::Cluster& cluster) {
  std::vector<std::string> tasks;
  for (const v1::Cluster::Member& member : cluster.members())
    tasks.push_back(absl::StrCat(member.task(), member.is_chief() ? " chief" : ""));
  return tasks;
}

TEST(FormationTest, A03WithoutAChiefEntryWorker0IsTheChief) {
  ClusterOptions options;
  options.world_size = 3;
  Cluster cluster(options);
  ASSERT_OK(cluster.client(2).AwaitComplete());
  ASSERT_OK_AND_ASSIGN(const v1::Cluster view, cluster.client(2).DescribeCluster());
  EXPECT_THAT(Tasks(view), ElementsAre("worker:0 chief", "worker:1", "worker:2"));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(view.members(rank).address(), cluster.address(rank));
    EXPECT_EQ(view.members(rank).pid(), cluster.daemon(rank).pid());
  }
}

TEST(FormationTest, A03AChiefEntryIsRank0) {
  ClusterOptions options;
  options.world_size = 3;
  options.chief_key = true;
  Cluster cluster(options);
  ASSERT_OK(cluster.client().AwaitComplete());
  ASSERT_OK_AND_ASSIGN(const v1::Cluster view, cluster.client().DescribeCluster());
  EXPECT_THAT(Tasks(view), ElementsAre("chief:0 chief", "worker:0", "worker:1"));
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client(1).Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  EXPECT_EQ(job.summary().world_size(), 3);
}

TEST(FormationTest, A06PeersMayStartInAnyOrder) {
  ClusterOptions options;
  options.world_size = 2;
  const std::unique_ptr<Cluster> cluster = Cluster::Prepare(options);
  cluster->Launch(1);
  cluster->AwaitListening(1);
  // Rank 1 has looked for rank 0 at least once, and found nobody.
  ASSERT_OK(cluster->client(1).AwaitDetail(0, "connection refused"));
  cluster->Launch(0);
  ASSERT_OK(cluster->client(1).AwaitComplete());
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster->client(1).Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  ASSERT_OK_AND_ASSIGN(const v1::Cluster view, cluster->client(1).DescribeCluster());
  EXPECT_EQ(view.exchange(), "shared memory");
}

TEST(FormationTest, A06ARankThatNeverStartsFailsTheJobByNameAndCause) {
  ClusterOptions options;
  options.world_size = 2;
  options.flags = {"--join_timeout", "2"};
  const std::unique_ptr<Cluster> cluster = Cluster::Prepare(options);
  cluster->Launch(0);
  cluster->AwaitListening(0);
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster->client().Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), AllOf(HasSubstr(absl::StrCat(cluster->Name(1), " did not join")),
                                 HasSubstr("connection refused"), HasSubstr("--join_timeout")));
  // The daemon lives, and takes the next job.
  cluster->Launch(1);
  ASSERT_OK(cluster->client().AwaitComplete());
  ASSERT_OK_AND_ASSIGN(const v1::Job second, cluster->client().Run(ToyJob()));
  EXPECT_EQ(second.state(), v1::SUCCEEDED) << second.error();
}

TEST_F(DaemonTest, A06ANameThatDoesNotResolveIsSaidToBeTheCause) {
  const std::vector<std::string> addresses = {ChooseAddresses(1)[0], "no-such-host.invalid:5302"};
  const std::unique_ptr<Daemon> chief = Start(WorkerTfConfig(addresses, 0), {"--join_timeout", "3"});
  ASSERT_TRUE(chief->AwaitListening(addresses[0])) << chief->Log();
  ASSERT_OK_AND_ASSIGN(const v1::Job job, JobClient(addresses[0]).Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), AllOf(HasSubstr("rank 1 (no-such-host.invalid:5302) did not join"),
                                 HasSubstr("its name does not resolve")));
}

TEST_F(DaemonTest, A06ANameThatResolvesLaterIsFoundThen) {
  const std::vector<std::string> binds = ChooseAddresses(2);
  const std::vector<std::string> bind = absl::StrSplit(binds[1], ':');
  const std::vector<std::string> addresses = {binds[0], absl::StrCat("w1.test:", bind[1])};
  // The chief sees a hosts file of its own, in a mount namespace of its own, and a name server that is
  // silent.
  const std::string hosts = absl::StrCat(directory_, "/hosts");
  WriteFileOrDie(hosts, "127.0.0.1 localhost\n");
  const std::string resolver = absl::StrCat(directory_, "/resolv.conf");
  WriteFileOrDie(resolver, absl::StrCat("nameserver ", bind[0], "\n"));
  DaemonOptions options;
  options.program = "/usr/bin/unshare";
  options.flags = {
      "--map-root-user",
      "--mount",
      "/bin/sh",
      "-c",
      "mount --bind \"$0\" /etc/hosts && mount --bind \"$1\" /etc/resolv.conf && exec worker/lockstepd",
      hosts,
      resolver};
  options.tf_config = WorkerTfConfig(addresses, 0);
  options.log = absl::StrCat(directory_, "/chief.log");
  Daemon chief(options);
  ASSERT_TRUE(chief.AwaitListening(addresses[0])) << chief.Log();
  JobClient client(addresses[0]);
  ASSERT_OK(client.AwaitDetail(1, "its name does not resolve: no name server answers")) << chief.Log();
  // Only now: a worker that reaches the chief has joined, whether or not its own name resolves.
  const std::unique_ptr<Daemon> worker = Start(WorkerTfConfig(addresses, 1), {"--bind", binds[1]});
  // In place: the mount holds the file, not its name.
  std::ofstream(hosts, std::ios::app) << bind[0] << " w1.test\n";
  ASSERT_OK(client.AwaitComplete());
  ASSERT_OK_AND_ASSIGN(const v1::Job job, client.Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
}

TEST_F(DaemonTest, A04TwoProcessesWithIndex0AreBothToldSo) {
  // Two hosts, the same configuration copied to both.
  const std::vector<std::string> addresses = {ChooseAddresses(1)[0], ChooseAddresses(1)[0]};
  const std::string tf_config = WorkerTfConfig(addresses, 0);
  const std::vector<std::string> flags = {"--join_timeout", "2"};
  const std::unique_ptr<Daemon> first = Start(tf_config, flags);
  const std::unique_ptr<Daemon> second = Start(tf_config, {"--join_timeout", "2", "--bind", addresses[1]});
  ASSERT_TRUE(first->AwaitListening(addresses[0])) << first->Log();
  ASSERT_TRUE(second->AwaitListening(addresses[1])) << second->Log();
  for (const std::string& address : addresses) {
    ASSERT_OK_AND_ASSIGN(const v1::Job job, JobClient(address).Run(ToyJob()));
    EXPECT_EQ(job.state(), v1::FAILED);
    EXPECT_THAT(job.error(), AllOf(HasSubstr(absl::StrCat("rank 1 (", addresses[1], ") did not join")),
                                   HasSubstr("rank 0 is claimed by two processes"),
                                   HasSubstr(absl::StrCat("pid ", first->pid())), HasSubstr(addresses[0]),
                                   HasSubstr(absl::StrCat("pid ", second->pid()))));
  }
}

TEST_F(DaemonTest, ClusterSpecsThatDifferAreNamedByTheirHashes) {
  const std::vector<std::string> addresses = ChooseAddresses(3);
  const std::unique_ptr<Daemon> chief =
      Start(WorkerTfConfig({addresses[0], addresses[1]}, 0), {"--join_timeout", "2"});
  const std::unique_ptr<Daemon> worker = Start(WorkerTfConfig(addresses, 1), {"--join_timeout", "2"});
  ASSERT_TRUE(chief->AwaitListening(addresses[0])) << chief->Log();
  ASSERT_TRUE(worker->AwaitListening(addresses[1])) << worker->Log();
  ASSERT_OK_AND_ASSIGN(const v1::Job job, JobClient(addresses[0]).Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), ContainsRegex("cluster spec [0-9a-f]{16} \\(3 ranks\\) differs from ours, "
                                         "[0-9a-f]{16} \\(2 ranks\\)"));
  // The worker knows as well.
  EXPECT_TRUE(worker->AwaitLog("cannot be joined")) << worker->Log();
  EXPECT_THAT(worker->Log(), ContainsRegex("cluster spec [0-9a-f]{16} \\(2 ranks\\) differs from ours, "
                                           "[0-9a-f]{16} \\(3 ranks\\)"));
}

TEST_F(DaemonTest, A07ATakenPortIsRefusedAndItsOwnerIsNotDisturbed) {
  ClusterOptions options;
  options.world_size = 2;
  Cluster cluster(options);
  const std::unique_ptr<Daemon> second = Start(WorkerTfConfig({cluster.address(0), cluster.address(1)}, 0));
  EXPECT_EQ(second->AwaitEnd(kRefusal), "exit code 2");
  EXPECT_THAT(second->LogLines(),
              ElementsAre(AllOf(HasSubstr(cluster.address(0)), HasSubstr("address already in use"))));
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
}

TEST(FormationTest, A08ProxiesInTheEnvironmentAreIgnored) {
  ClusterOptions options;
  options.world_size = 2;
  // Nobody listens on port 9: whatever asks the proxy fails.
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
    options.environment.push_back(absl::StrCat(name, "=http://127.0.0.1:9"));
  setenv("http_proxy", "http://127.0.0.1:9", 1);
  setenv("grpc_proxy", "http://127.0.0.1:9", 1);
  Cluster cluster(options);
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client(1).Run(ToyJob()));
  unsetenv("http_proxy");
  unsetenv("grpc_proxy");
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
}

TEST(FormationTest, DaemonsStopInOrderWhenTold) {
  ClusterOptions options;
  options.world_size = 2;
  Cluster cluster(options);
  ASSERT_OK(cluster.client().AwaitComplete());
  cluster.daemon(1).Signal(SIGTERM);
  EXPECT_EQ(cluster.daemon(1).AwaitEnd(), "exit code 0");
  cluster.daemon(0).Signal(SIGINT);
  EXPECT_EQ(cluster.daemon(0).AwaitEnd(), "exit code 0");
  EXPECT_THAT(cluster.daemon(0).Log(), HasSubstr(absl::StrCat(cluster.Name(1), " is no longer there: left")));
}

}  // namespace
}  // namespace lockstep

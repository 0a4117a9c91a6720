#include "worker/tf_config.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Refused, in one line, with `what` in it.
auto Refused(const std::string& what) {
  return StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(what), Not(HasSubstr("\n"))));
}

std::string WithCluster(const std::string& cluster) {
  return absl::StrCat(R"({"cluster":)", cluster, R"(,"task":{"type":"worker","index":0}})");
}

std::string WithTask(const std::string& task) {
  return absl::StrCat(R"({"cluster":{"worker":["a:1","b:1"],"ps":["p:1"]},"task":)", task, "}");
}

TEST(TfConfigTest, A01SingleQuotesAreNotJson) {
  EXPECT_THAT(ParseTfConfig("{'cluster':{'worker':['127.0.0.1:5301','127.0.0.1:5302']},"
                            "'task':{'type':'worker','index':0}}"),
              Refused("TF_CONFIG is not JSON: line 1, column 2 (position 1): unexpected character '"));
}

TEST(TfConfigTest, A01AStringIsNoArray) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":"127.0.0.1:5301,127.0.0.1:5302"})")),
              Refused("cluster.worker must be an array of \"host:port\" strings, not a string"));
}

TEST(TfConfigTest, A01ATrailingCommaIsNotJson) {
  EXPECT_THAT(ParseTfConfig(R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0,}})"),
              Refused("is not JSON: line 1, column 65 (position 64): unexpected character } after a comma"));
}

TEST(TfConfigTest, A01JunkAfterTheEndIsNotJson) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":["a:1"]})") + "x"), Refused("unexpected character x"));
}

TEST(TfConfigTest, A02ATaskTypeMustBeInTheCluster) {
  EXPECT_THAT(ParseTfConfig(R"({"cluster":{"worker":["127.0.0.1:5301","127.0.0.1:5302"]},)"
                            R"("task":{"type":"chief","index":0}})"),
              Refused("task.type \"chief\" is not in the cluster; the cluster has: worker"));
}

TEST(TfConfigTest, A03WithoutAChiefWorkerZeroIsRankZero) {
  ASSERT_OK_AND_ASSIGN(
      const ClusterConfig config,
      ParseTfConfig(R"({"cluster":{"worker":["w0:1","w1:1","w2:1"]},"task":{"type":"worker","index":1}})"));
  EXPECT_THAT(config.addresses, ElementsAre("w0:1", "w1:1", "w2:1"));
  EXPECT_THAT(config.names, ElementsAre("worker:0", "worker:1", "worker:2"));
  EXPECT_EQ(config.rank, 1);
  EXPECT_TRUE(config.from_environment);
}

TEST(TfConfigTest, A03AChiefIsRankZeroWhereverItStands) {
  for (const char* chief : {"chief", "master"}) {
    ASSERT_OK_AND_ASSIGN(
        const ClusterConfig config,
        ParseTfConfig(absl::Substitute(
            R"({"task":{"index":0,"type":"worker"},"cluster":{"worker":["w0:1","w1:1"],"$0":["c0:1"]}})",
            chief)));
    EXPECT_THAT(config.addresses, ElementsAre("c0:1", "w0:1", "w1:1"));
    EXPECT_THAT(config.names, ElementsAre(absl::StrCat(chief, ":0"), "worker:0", "worker:1"));
    EXPECT_EQ(config.rank, 1);
    EXPECT_EQ(config.task_type, "worker");
    EXPECT_EQ(config.task_index, 0);
  }
}

TEST(TfConfigTest, A03ThereIsOneChiefOnly) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"chief":["c0:1","c1:1"],"worker":["w:1"]})")),
              Refused("cluster.chief has 2 addresses: there is one chief only"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"chief":["c0:1"],"master":["c1:1"],"worker":["w:1"]})")),
              Refused("cluster has both chief and master"));
}

TEST(TfConfigTest, A04EqualConfigurationsHaveEqualHashes) {
  ASSERT_OK_AND_ASSIGN(const ClusterConfig first, ParseTfConfig(WithTask(R"({"type":"worker","index":0})")));
  ASSERT_OK_AND_ASSIGN(const ClusterConfig second, ParseTfConfig(WithTask(R"({"type":"worker","index":1})")));
  EXPECT_EQ(first.Hash(), second.Hash());
  ASSERT_OK_AND_ASSIGN(const ClusterConfig other, ParseTfConfig(WithCluster(R"({"worker":["b:1","a:1"]})")));
  EXPECT_NE(first.Hash(), other.Hash());
}

TEST(TfConfigTest, A05MalformedAddressesAreNamedByPlaceAndValue) {
  for (const char* address : {"", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "grpc://127.0.0.1:5301",
                              " 127.0.0.1:5301", "127.0.0.1:53o1"}) {
    EXPECT_THAT(
        ParseTfConfig(WithCluster(absl::Substitute(R"({"worker":["127.0.0.1:5300","$0"]})", address))),
        Refused(absl::StrCat("cluster.worker[1] \"", address, "\" ")));
  }
}

TEST(TfConfigTest, A05TheSameAddressTwiceIsNamedByBothPlaces) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":["a:1","b:1","A:1"]})")),
              Refused("cluster.worker[0] and cluster.worker[2] are the same address \"A:1\""));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"chief":["a:1"],"worker":["a:1"]})")),
              Refused("cluster.chief[0] and cluster.worker[0] are the same"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":["[::1]:1","[0:0::1]:1"]})")), Refused("are the same"));
}

TEST(TfConfigTest, UnsetOrBlankIsOneWorker) {
  for (const char* blank : {"", " ", "\t\r\n "}) {
    ASSERT_OK_AND_ASSIGN(const ClusterConfig config, ParseTfConfig(blank));
    EXPECT_FALSE(config.from_environment);
    EXPECT_EQ(config.world_size(), 1);
    EXPECT_EQ(config.rank, 0);
  }
}

TEST(TfConfigTest, HalfAConfigurationIsRefused) {
  EXPECT_THAT(ParseTfConfig("{}"), Refused("cluster is missing"));
  EXPECT_THAT(ParseTfConfig(R"({"task":{"type":"worker","index":0}})"), Refused("cluster is missing"));
  EXPECT_THAT(ParseTfConfig(R"({"cluster":{"worker":["a:1"]}})"), Refused("task is missing"));
  EXPECT_THAT(ParseTfConfig(R"({"sparseCluster":{"worker":{"0":"a:1"}},"task":{"type":"worker","index":0}})"),
              Refused("sparseCluster alone does not do"));
}

TEST(TfConfigTest, ValuesOfTheWrongKindAreRefused) {
  EXPECT_THAT(ParseTfConfig("[]"), Refused("it must be an object, not an array"));
  EXPECT_THAT(ParseTfConfig("null"), Refused("it must be an object, not null"));
  EXPECT_THAT(ParseTfConfig(WithCluster("[]")), Refused("cluster must be an object, not an array"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":null})")), Refused("cluster.worker must be an array"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":["a:1",7]})")),
              Refused("cluster.worker[1] must be a \"host:port\" string, not a number"));
  EXPECT_THAT(ParseTfConfig(WithTask("\"worker\"")), Refused("task must be an object, not a string"));
  EXPECT_THAT(ParseTfConfig(WithTask(R"({"type":0,"index":0})")), Refused("task.type must be a string"));
}

TEST(TfConfigTest, EmptyListsAreRefused) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":[]})")), Refused("cluster.worker is empty"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":{}})")), Refused("cluster.worker is empty"));
  EXPECT_THAT(ParseTfConfig(WithCluster("{}")), Refused("cluster has neither a chief nor workers"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"ps":["p:1"]})")), Refused("neither a chief nor workers"));
}

TEST(TfConfigTest, UnknownListsAreRefusedAndKnownOnesNamed) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"workers":["a:1"]})")),
              Refused("cluster has an unknown list \"workers\": known are chief, master, worker, ps and "
                      "evaluator"));
}

TEST(TfConfigTest, UnknownKeysElsewhereAreTolerated) {
  EXPECT_OK(
      ParseTfConfig(R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0,"trial":"1",)"
                    R"("cloud":"x"},"environment":"cloud","job":{"x":[]},"rpc_layer":"grpc","y":null})"));
}

TEST(TfConfigTest, ParameterServersAndEvaluatorsHaveNoRank) {
  ASSERT_OK_AND_ASSIGN(const ClusterConfig config,
                       ParseTfConfig(WithCluster(R"({"ps":["p:1"],"evaluator":["e:1"],"worker":["a:1"]})")));
  EXPECT_THAT(config.addresses, ElementsAre("a:1"));
}

TEST(TfConfigTest, TasksThatDoNotTrainAreRefused) {
  EXPECT_THAT(ParseTfConfig(WithTask(R"({"type":"ps","index":0})")),
              Refused("lockstep runs no ps (parameter server): start only the chief and the workers; the "
                      "cluster has: worker"));
  EXPECT_THAT(ParseTfConfig(WithTask(R"({"type":"evaluator","index":0})")), Refused("runs no evaluator"));
}

TEST(TfConfigTest, IndicesAreNumbersOrNumericStrings) {
  for (const char* index : {"1", "\"1\"", "1.0", "\"01\""}) {
    ASSERT_OK_AND_ASSIGN(const ClusterConfig config,
                         ParseTfConfig(WithTask(absl::Substitute(R"({"type":"worker","index":$0})", index))));
    EXPECT_EQ(config.rank, 1) << index;
  }
}

TEST(TfConfigTest, IndicesThatAreNoWholeNumbersAreRefused) {
  for (const char* index : {"-1", "0.5", "true", "null", "[0]", "1e300", "\"\"", "\"-1\"", "\"0x1\"",
                            "\" 1\"", "\"1.0\"", "18446744073709551616"}) {
    EXPECT_THAT(ParseTfConfig(WithTask(absl::Substitute(R"({"type":"worker","index":$0})", index))),
                Refused("task.index must be a whole number from 0"))
        << index;
  }
}

TEST(TfConfigTest, IndicesOutsideTheClusterAreRefusedAndItsOwnNamed) {
  EXPECT_THAT(ParseTfConfig(WithTask(R"({"type":"worker","index":2})")),
              Refused("task.index 2 is not in the cluster; cluster.worker has the index 0, 1"));
  EXPECT_THAT(ParseTfConfig(WithTask(R"({"type":"worker"})")),
              Refused("task.index is missing; cluster.worker has the index 0, 1"));
  EXPECT_THAT(ParseTfConfig(WithTask(R"({"index":0})")),
              Refused("task.type is missing; the cluster has: worker"));
}

TEST(TfConfigTest, SparseListsGiveRanksInTheOrderOfIndices) {
  ASSERT_OK_AND_ASSIGN(const ClusterConfig config,
                       ParseTfConfig(R"({"cluster":{"worker":{"10":"c:1","2":"b:1","0":"a:1"}},)"
                                     R"("task":{"type":"worker","index":2}})"));
  EXPECT_THAT(config.addresses, ElementsAre("a:1", "b:1", "c:1"));
  EXPECT_THAT(config.names, ElementsAre("worker:0", "worker:2", "worker:10"));
  EXPECT_EQ(config.rank, 1);
  EXPECT_EQ(config.task_index, 2);
}

TEST(TfConfigTest, MistakesInSparseListsAreRefused) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":{"0":"a:1","x":"b:1"}})")),
              Refused("cluster.worker: the key \"x\" must be a whole number"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":{"0":"a:1","00":"b:1"}})")),
              Refused("cluster.worker has the index 0 twice"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":{"0":"a:1","2":"b"}})")),
              Refused("cluster.worker[2] \"b\" has no port"));
  EXPECT_THAT(ParseTfConfig(WithTask(R"({"type":"worker","index":1})")), IsOk());
}

TEST(TfConfigTest, KeysThatStandTwiceAreRefused) {
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":["a:1"],"worker":["b:1"]})")),
              Refused("TF_CONFIG has the key \"cluster.worker\" twice"));
}

TEST(TfConfigTest, MessagesStayShortAndPrintable) {
  const std::string hostile = std::string(100'000, 'x') + R"(\u0007\n)";
  const absl::Status status =
      ParseTfConfig(WithCluster(absl::StrCat(R"({"worker":[")", hostile, R"("]})"))).status();
  EXPECT_THAT(status, Refused("cluster.worker[0]"));
  EXPECT_LT(status.message().size(), 400);
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":["a\u001b[31m:1"]})")), Refused(R"("a\x1b[31m:1")"));
  EXPECT_THAT(ParseTfConfig(WithCluster(R"({"worker":["a:1\u0000"]})")), Refused(R"("a:1\x00")"));
}

TEST(TfConfigTest, HugeTextsAreRefusedBeforeParsing) {
  EXPECT_THAT(ParseTfConfig(std::string(2 << 20, '[')), Refused("more than the limit"));
}

// The same cluster in different spellings, for the property below.
class RandomCluster {
 public:
  explicit RandomCluster(unsigned seed) : random_(seed) {
    const int workers = 1 + Below(6);
    has_chief_ = Below(2) == 1;
    for (int i = 0; i < workers; ++i) workers_.push_back(absl::StrCat("host", i, ".test:", 1 + Below(65535)));
    own_ = Below(workers + (has_chief_ ? 1 : 0));
  }

  ClusterConfig Expected() const {
    ClusterConfig config;
    if (has_chief_) config.addresses.push_back("[2001:db8::1]:5300");
    config.addresses.insert(config.addresses.end(), workers_.begin(), workers_.end());
    config.rank = own_;
    config.task_type = has_chief_ && own_ == 0 ? "chief" : "worker";
    config.task_index = has_chief_ && own_ > 0 ? own_ - 1 : own_;
    return config;
  }

  std::string Spell() {
    std::vector<std::string> lists = {WorkerList()};
    if (has_chief_) lists.push_back(R"("chief": ["[2001:db8::1]:5300"])");
    if (Below(2)) lists.push_back(R"("ps": ["p:1", "q:1"])");
    const ClusterConfig expected = Expected();
    const char* quote = Below(2) ? "\"" : "";
    std::vector<std::string> task = {absl::StrCat("\"type\":", Blank(), "\"", expected.task_type, "\""),
                                     absl::StrCat("\"index\":", quote, expected.task_index, quote)};
    std::vector<std::string> keys = {absl::StrCat("\"cluster\":", Object(std::move(lists))),
                                     absl::StrCat("\"task\":", Object(std::move(task)))};
    if (Below(2)) keys.push_back(R"("environment": "cloud")");
    return Object(std::move(keys));
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % bound); }
  std::string Blank() { return std::vector<std::string>{"", " ", "\n", "\t "}[Below(4)]; }

  std::string Object(std::vector<std::string> members) {
    std::shuffle(members.begin(), members.end(), random_);
    return absl::StrCat(Blank(), "{", absl::StrJoin(members, absl::StrCat(Blank(), ",", Blank())), "}",
                        Blank());
  }

  std::string WorkerList() {
    if (Below(2)) return absl::StrCat("\"worker\":[\"", absl::StrJoin(workers_, "\",\""), "\"]");
    std::vector<std::string> members;
    for (size_t i = 0; i < workers_.size(); ++i) {
      members.push_back(absl::StrCat("\"", i, "\":", Blank(), "\"", workers_[i], "\""));
    }
    return absl::StrCat("\"worker\":", Object(std::move(members)));
  }

  std::mt19937 random_;
  bool has_chief_;
  std::vector<std::string> workers_;
  int own_;
};

TEST(TfConfigTest, EverySpellingOfAClusterMeansTheSame) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomCluster cluster(seed);
    const ClusterConfig expected = cluster.Expected();
    for (int i = 0; i < 5; ++i) {
      const std::string text = cluster.Spell();
      SCOPED_TRACE(text);
      ASSERT_OK_AND_ASSIGN(const ClusterConfig config, ParseTfConfig(text));
      EXPECT_EQ(config.addresses, expected.addresses);
      EXPECT_EQ(config.rank, expected.rank);
      EXPECT_EQ(config.task_type, expected.task_type);
      EXPECT_EQ(config.task_index, expected.task_index);
      EXPECT_EQ(config.Hash(), expected.Hash());
    }
  }
}

}  // namespace
}  // namespace lockstep

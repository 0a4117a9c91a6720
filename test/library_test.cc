// The toy program written against the C++ API, run on every node of a cluster as the daemon is.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/cluster.h"
#include "test/files.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LibraryTest, AProgramOnTwoNodesTrainsWhatTheSubmittedJobTrains) {
  const std::string directory = MakeTemporaryDirectory();
  const std::vector<std::string> addresses = ChooseAddresses(2);
  std::vector<std::unique_ptr<Daemon>> programs;
  for (int rank = 0; rank < 2; ++rank) {
    DaemonOptions options;
    options.program = "examples/toy";
    options.tf_config = WorkerTfConfig(addresses, rank);
    options.log = absl::StrCat(directory, "/toy-", rank, ".log");
    programs.push_back(std::make_unique<Daemon>(options));
  }
  for (const auto& program : programs) EXPECT_EQ(program->AwaitEnd(), "exit code 0") << program->Log();

  ClusterOptions options;
  options.world_size = 2;
  Cluster cluster(options);
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().Run(ToyJob()));
  ASSERT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  EXPECT_THAT(programs[0]->Log(),
              HasSubstr(absl::StrCat("parameter_hash ", job.summary().parameter_hash(), "\n")));
  EXPECT_THAT(programs[1]->Log(), Not(HasSubstr("parameter_hash"))) << "rank 0 reports";
}

TEST(LibraryTest, AMistakeInTfConfigEndsTheProgramWithItsPlace) {
  DaemonOptions options;
  options.program = "examples/toy";
  options.tf_config = R"({"cluster":{"worker":"127.0.0.1:5301"},"task":{"type":"worker","index":0}})";
  options.log = MakeTemporaryDirectory() + "/toy.log";
  Daemon program(options);
  EXPECT_EQ(program.AwaitEnd(), "exit code 1");
  EXPECT_THAT(program.Log(), HasSubstr("cluster.worker"));
}

}  // namespace
}  // namespace lockstep

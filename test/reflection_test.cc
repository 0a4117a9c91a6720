// A client that knows only server reflection (reflection_client.py) runs a job and asks for health, on the
// chief and on another rank.
#include <string>

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

TEST(ReflectionTest, AGenericClientSubmitsAndFollowsAJob) {
  ClusterOptions options;
  options.world_size = 2;
  Cluster cluster(options);
  ASSERT_OK(cluster.client(1).AwaitComplete());
  v1::JobSpec spec = ToyJob();
  spec.clear_checkpoint();
  const std::string job_file = cluster.directory() + "/job.textproto";
  WriteFileOrDie(job_file, spec.DebugString());
  for (int rank = 0; rank < 2; ++rank) {
    DaemonOptions client;
    client.program = "/usr/bin/python3";
    client.flags = {"test/reflection_client.py", cluster.address(rank), job_file};
    client.log = absl::StrCat(cluster.directory(), "/client-", rank, ".log");
    Daemon process(client);
    EXPECT_EQ(process.AwaitEnd(), "exit code 0") << process.Log();
    ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().GetJob(""));
    EXPECT_EQ(job.state(), v1::SUCCEEDED);
    EXPECT_THAT(process.Log(), HasSubstr(absl::StrCat("parameter_hash ", job.summary().parameter_hash())));
  }
}

}  // namespace
}  // namespace lockstep

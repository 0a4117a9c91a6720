// A37: of the ranks that share a checkpoint directory, only the chief ever writes there.
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/cluster.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::UnorderedElementsAre;

TEST(OneWriterTest, A37OnlyTheChiefNeedsTheOutputRoot) {
  ClusterOptions options;
  options.world_size = 3;
  // Nobody, root included, can make a directory there.
  options.output_roots = {{1, "/proc/no-output"}, {2, "/proc/no-output"}};
  Cluster cluster(options);
  v1::JobSpec spec = ToyJob();
  spec.mutable_fit()->set_epochs(2);
  spec.mutable_fit()->set_batch_size(10);  // 200 steps
  spec.mutable_checkpoint()->set_every_steps(1);
  spec.mutable_checkpoint()->set_keep(4);
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().Run(spec));
  ASSERT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  EXPECT_EQ(job.summary().steps(), 200);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names,
                       FileSystem::Posix()->ListDirectory(cluster.output_path("toy")));
  EXPECT_THAT(names, UnorderedElementsAre("latest", "step-000000000197", "step-000000000198",
                                          "step-000000000199", "step-000000000200"));
}

}  // namespace
}  // namespace lockstep

// Data that cannot be used, on one rank or on all: the job fails alike everywhere, with the place.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/checkpoint_files.h"
#include "test/cluster.h"
#include "test/files.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ClusterOptions TwoRanks() {
  ClusterOptions options;
  options.world_size = 2;
  return options;
}

// The next job shows that no rank hangs.
void ExpectTakesJobs(Cluster* cluster) {
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster->client().Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
}

TEST(BadDataTest, AFileMissingOnOneRankNamesTheRankAndTheFile) {
  ClusterOptions options = TwoRanks();
  options.data_roots[1] = MakeTemporaryDirectory();
  Cluster cluster(options);
  WriteFileOrDie(cluster.data_path("line.csv"), "x,y\n1,2\n2,4\n");
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().Run(LineJob("sgd {}", "epochs: 1 batch_size: 2")));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(),
              AllOf(HasSubstr(cluster.Name(1)), HasSubstr(options.data_roots[1]), HasSubstr("line.csv")));
  ExpectTakesJobs(&cluster);
}

TEST(BadDataTest, APathOutsideTheRootFailsTheJobWithItsField) {
  Cluster cluster(TwoRanks());
  v1::JobSpec spec = ToyJob();
  spec.mutable_checkpoint()->set_directory("/outside");
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().Run(spec));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), AllOf(HasSubstr("checkpoint.directory"), HasSubstr("/outside")));
}

TEST(BadDataTest, A24NotANumberIsNamedByRankFileLineAndColumn) {
  Cluster cluster(TwoRanks());
  std::string csv = "x,y\n";
  for (int row = 1; row <= 7; ++row) absl::StrAppend(&csv, row, ",", 2 * row, "\n");
  const v1::JobSpec spec =
      LineJob("sgd { learning_rate { constant: 0.001 } }", "epochs: 3 batch_size: 4 seed: 1");
  // A first epoch on good rows leaves a checkpoint.
  WriteFileOrDie(cluster.data_path("line.csv"), csv + "8,16\n");
  v1::JobSpec one_epoch = spec;
  one_epoch.mutable_fit()->set_epochs(1);
  ASSERT_OK_AND_ASSIGN(const v1::Job good, cluster.client().Run(one_epoch));
  ASSERT_EQ(good.state(), v1::SUCCEEDED) << good.error();
  const std::string saved = TensorBytes(cluster.output_path("line"));

  WriteFileOrDie(cluster.data_path("line.csv"), csv + "nan,1\n");
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().Run(spec));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_THAT(job.error(), AllOf(HasSubstr(cluster.Name(1)), HasSubstr("line.csv"), HasSubstr("line 9"),
                                 HasSubstr("column \"x\"")));
  EXPECT_EQ(ReadManifest(cluster.output_path("line")).step(), good.summary().steps());
  EXPECT_EQ(TensorBytes(cluster.output_path("line")), saved) << "the good checkpoint is untouched";
  ExpectTakesJobs(&cluster);
}

TEST(BadDataTest, A30ALabelOutsideTheClassesIsNamedByFileAndRow) {
  Cluster cluster(TwoRanks());
  const v1::JobSpec spec = ParseJobOrDie(R"(
      model { input { shape: 1 } layers { dense { units: 3 activation: SOFTMAX } } }
      compile { optimizer { sgd {} } loss { sparse_categorical_crossentropy {} } }
      data { train { csv { paths: "classes.csv" label: "y" } } }
      fit { epochs: 1 batch_size: 4 seed: 1 })");
  for (const char* label : {"3", "-1"}) {
    WriteFileOrDie(cluster.data_path("classes.csv"), absl::StrCat("x,y\n1,0\n2,1\n3,2\n4,", label, "\n"));
    ASSERT_OK_AND_ASSIGN(const std::string id, cluster.client().Submit(spec));
    ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client().AwaitEnd(id));
    EXPECT_EQ(job.state(), v1::FAILED);
    EXPECT_THAT(job.error(), AllOf(HasSubstr(absl::StrCat("label ", label)), HasSubstr("[0, 3)"),
                                   HasSubstr("classes.csv"), HasSubstr("line 5")));
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_TRUE(cluster.daemon(rank).AwaitLog(absl::StrCat("label ", label, " outside")))
          << cluster.daemon(rank).Log();
    }
  }
  ExpectTakesJobs(&cluster);
}

}  // namespace
}  // namespace lockstep

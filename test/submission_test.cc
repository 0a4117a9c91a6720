// Jobs as clients hand them in, follow them and end them.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "test/cluster.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SubmissionTest : public ::testing::Test {
 protected:
  static ClusterOptions TwoRanks() {
    ClusterOptions options;
    options.world_size = 2;
    return options;
  }

  Cluster cluster_{TwoRanks()};
  JobClient client_ = cluster_.client();
};

TEST_F(SubmissionTest, JobsRunOneAfterTheOtherWithoutARestart) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    v1::JobSpec spec = ToyJob();
    spec.mutable_checkpoint()->set_directory(absl::StrCat("toy-", i));
    ASSERT_OK_AND_ASSIGN(const std::string id, client_.Submit(spec));
    ids.push_back(id);
  }
  std::string hash;
  for (const std::string& id : ids) {
    ASSERT_OK_AND_ASSIGN(const v1::Job job, client_.AwaitEnd(id));
    EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
    if (hash.empty()) hash = job.summary().parameter_hash();
    EXPECT_EQ(job.summary().parameter_hash(), hash);
  }
  ASSERT_OK_AND_ASSIGN(const v1::ListJobsResponse list, client_.ListJobs());
  ASSERT_EQ(list.jobs_size(), 3);
  EXPECT_EQ(list.jobs(0).id(), ids[2]) << "newest first";
}

TEST_F(SubmissionTest, AWorkerPassesOnWhatItIsAskedToTheChief) {
  ASSERT_OK(cluster_.client(1).AwaitComplete());
  ASSERT_OK_AND_ASSIGN(const std::string id, cluster_.client(1).Submit(ToyJob()));
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster_.client(1).AwaitEnd(id));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  ASSERT_OK_AND_ASSIGN(const v1::Job at_chief, client_.GetJob(id));
  EXPECT_EQ(at_chief.summary().parameter_hash(), job.summary().parameter_hash());
}

TEST_F(SubmissionTest, TheEventsOfAJobTellItsLife) {
  ASSERT_OK_AND_ASSIGN(const std::string id, client_.Submit(ToyJob()));
  ASSERT_OK_AND_ASSIGN(const std::vector<v1::JobEvent> events, client_.Events(id));
  std::vector<v1::JobState> states;
  int epochs = 0, summaries = 0;
  int64_t sequence = 0;
  for (const v1::JobEvent& event : events) {
    EXPECT_EQ(event.sequence(), event.has_progress() ? sequence : sequence + 1);
    sequence = event.sequence();
    if (event.has_state()) states.push_back(event.state().state());
    if (event.has_fit_begin()) {
      EXPECT_THAT(event.fit_begin().shares(), ElementsAre(16, 16));
      EXPECT_EQ(event.fit_begin().steps_per_epoch(), 32);
    }
    epochs += event.has_epoch_end();
    summaries += event.has_summary();
  }
  EXPECT_THAT(states, ElementsAre(v1::QUEUED, v1::STARTING, v1::RUNNING, v1::SUCCEEDED));
  EXPECT_EQ(epochs, 3);
  EXPECT_EQ(summaries, 1);
}

TEST_F(SubmissionTest, TheSameRequestTwiceIsOneJob) {
  ASSERT_OK_AND_ASSIGN(const std::string first, client_.Submit(ToyJob(), "request-1"));
  ASSERT_OK_AND_ASSIGN(const std::string again, client_.Submit(ToyJob(), "request-1"));
  EXPECT_EQ(first, again);
  ASSERT_OK(client_.AwaitEnd(first));
  ASSERT_OK_AND_ASSIGN(const std::string late, client_.Submit(ToyJob(), "request-1"));
  EXPECT_EQ(first, late);
  ASSERT_OK_AND_ASSIGN(const v1::ListJobsResponse list, client_.ListJobs());
  EXPECT_EQ(list.jobs_size(), 1);
}

TEST_F(SubmissionTest, CancellingEndsARunningAndAQueuedJob) {
  ASSERT_OK_AND_ASSIGN(const std::string running, client_.Submit(EndlessJob()));
  ASSERT_OK_AND_ASSIGN(const std::string queued, client_.Submit(EndlessJob()));
  ASSERT_OK_AND_ASSIGN(const std::string last, client_.Submit(ToyJob()));
  ASSERT_OK(client_.AwaitStep(running, 10));
  ASSERT_OK_AND_ASSIGN(v1::Job job, client_.Cancel(queued));
  EXPECT_EQ(job.state(), v1::CANCELLED);
  ASSERT_OK(client_.Cancel(running));
  ASSERT_OK_AND_ASSIGN(job, client_.AwaitEnd(running));
  EXPECT_EQ(job.state(), v1::CANCELLED);
  EXPECT_THAT(job.error(), HasSubstr("cancelled"));
  // Both ranks are free for the next one.
  ASSERT_OK_AND_ASSIGN(job, client_.AwaitEnd(last));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
}

TEST_F(SubmissionTest, AJobThatIsNotThereIsNotFound) {
  EXPECT_THAT(client_.GetJob("job-77"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("job-77")));
  EXPECT_THAT(client_.Cancel("job-77"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("job-77")));
  EXPECT_THAT(client_.Events("job-77"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("job-77")));
}

// One mistake on each level of the specification, merged into a good one, and what the refusal names.
TEST_F(SubmissionTest, AMistakeIsRefusedAtOnceWithThePathOfItsField) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"task: PREDICT", "predict.output"},
      {"model { input { shape: 0 } }", "model.input"},
      {"model { layers { reshape { shape: [3, 5] } } }", "model.layers[2] (reshape)"},
      {"model { layers { dropout { rate: 1.5 } } }", "model.layers[2] (dropout): rate"},
      {"compile { metrics: \"acuracy\" }", "compile.metrics"},
      {"compile { optimizer { adam { beta_1: 1.5 } } }", "compile.optimizer.adam.beta_1"},
      {"compile { optimizer { clipnorm: -1 } }", "compile.optimizer.clipnorm"},
      {"data { validation_split: 1.5 }", "data.validation_split"},
      {"data { train { synthetic { classes: 1 } } }", "data.train.synthetic.classes"},
      {"fit { epochs: -1 }", "fit.epochs"},
      {"fit { per_worker_batch_size: 4 }", "fit.batch_size"},
      {"threading { intra_op_threads: -2 }", "threading.intra_op_threads"},
      {"communication_options { bytes_per_pack: 1 }", "communication_options.bytes_per_pack"},
      {"checkpoint { keep: 0 }", "checkpoint.keep"},
  };
  for (const auto& [mistake, field] : mistakes) {
    v1::JobSpec spec = ToyJob();
    ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(mistake, &spec)) << mistake;
    EXPECT_THAT(client_.Submit(spec), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field)))
        << mistake;
  }
  ASSERT_OK_AND_ASSIGN(const v1::ListJobsResponse list, client_.ListJobs());
  EXPECT_EQ(list.jobs_size(), 0);
}

}  // namespace
}  // namespace lockstep

#include "worker/job_table.h"

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(JobTableTest, ProgressThatAnEventHasOvertakenIsNotSentAfterIt) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string id, table.Add(v1::JobSpec(), ""));
  table.MakeListener(id)->OnProgress(v1::Progress());
  table.MakeListener(id)->OnEpochEnd(v1::EpochEnd());
  int64_t progress_seen = 0;
  ASSERT_OK_AND_ASSIGN(const JobTable::Events news,
                       table.WaitForEvents(id, 0, &progress_seen, absl::InfiniteFuture()));
  ASSERT_FALSE(news.events.empty());
  EXPECT_TRUE(news.events.back().has_epoch_end());
}

TEST(JobTableTest, JobsAreTakenInTheOrderOfTheirSubmission) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string first, table.Add(v1::JobSpec(), ""));
  ASSERT_OK_AND_ASSIGN(const std::string second, table.Add(v1::JobSpec(), ""));
  EXPECT_NE(first, second);
  EXPECT_EQ(table.TakeNext(), first);
  EXPECT_EQ(table.TakeNext(), second);
}

TEST(JobTableTest, TheSameRequestTwiceIsOneJob) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string first, table.Add(v1::JobSpec(), "request"));
  ASSERT_OK_AND_ASSIGN(const std::string second, table.Add(v1::JobSpec(), "request"));
  EXPECT_EQ(first, second);
  EXPECT_EQ(table.List().size(), 1);
  v1::JobSpec other;
  other.set_name("other");
  EXPECT_THAT(table.Add(other, "request"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("is that of job " + first)));
}

TEST(JobTableTest, AQueuedJobIsCancelledAtOnceAndNeverTaken) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string first, table.Add(v1::JobSpec(), ""));
  ASSERT_OK_AND_ASSIGN(const std::string second, table.Add(v1::JobSpec(), ""));
  ASSERT_OK_AND_ASSIGN(const v1::Job job, table.Cancel(first));
  EXPECT_EQ(job.state(), v1::CANCELLED);
  EXPECT_EQ(table.TakeNext(), second);
}

TEST(JobTableTest, AnEndedJobKeepsItsState) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string id, table.Add(v1::JobSpec(), ""));
  table.Finish(id, v1::FAILED, "rank 1 lost", v1::JobSummary());
  table.SetState(id, v1::RUNNING);
  table.Finish(id, v1::SUCCEEDED, "", v1::JobSummary());
  ASSERT_OK_AND_ASSIGN(const v1::Job job, table.Get(id));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_EQ(job.summary().error(), "rank 1 lost");
}

TEST(JobTableTest, EventsComeInOrderAndEndWithTheJob) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string id, table.Add(v1::JobSpec(), ""));
  table.MakeListener(id)->OnMessage("hello");
  table.Finish(id, v1::SUCCEEDED, "", v1::JobSummary());
  int64_t progress_seen = 0;
  ASSERT_OK_AND_ASSIGN(const JobTable::Events events,
                       table.WaitForEvents(id, 0, &progress_seen, absl::InfiniteFuture()));
  ASSERT_EQ(events.events.size(), 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(events.events[i].sequence(), static_cast<int64_t>(i) + 1);
  EXPECT_EQ(events.events[1].message(), "hello");
  EXPECT_TRUE(events.events[2].has_summary());
  EXPECT_EQ(events.events[3].state().state(), v1::SUCCEEDED);
  EXPECT_TRUE(events.ended);
}

TEST(JobTableTest, OfProgressOnlyTheNewestIsSeen) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string id, table.Add(v1::JobSpec(), ""));
  v1::Progress progress;
  for (int step = 1; step <= 5; ++step) {
    progress.set_global_step(step);
    table.MakeListener(id)->OnProgress(progress);
  }
  int64_t progress_seen = 0;
  ASSERT_OK_AND_ASSIGN(const JobTable::Events events,
                       table.WaitForEvents(id, 1, &progress_seen, absl::InfiniteFuture()));
  ASSERT_EQ(events.events.size(), 1);
  EXPECT_EQ(events.events[0].progress().global_step(), 5);
  EXPECT_EQ(table.LastStep(id), 5);
  EXPECT_EQ(table.Get(id)->progress().global_step(), 5);
  table.Finish(id, v1::SUCCEEDED, "", v1::JobSummary());
  EXPECT_FALSE(table.Get(id)->has_progress());
}

TEST(JobTableTest, TheSummaryOfAFailedJobTellsWhatWasDone) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string id, table.Add(v1::JobSpec(), ""));
  v1::FitBegin begin;
  begin.set_world_size(3);
  table.MakeListener(id)->OnFitBegin(begin);
  v1::EpochEnd end;
  end.set_epoch(1);
  end.add_metrics()->set_value(0.5);
  table.MakeListener(id)->OnEpochEnd(end);
  v1::Progress progress;
  progress.set_global_step(21);
  table.MakeListener(id)->OnProgress(progress);
  table.Finish(id, v1::FAILED, "rank 1 lost", v1::JobSummary());
  const v1::JobSummary summary = table.Get(id)->summary();
  EXPECT_EQ(summary.steps(), 21);
  EXPECT_EQ(summary.world_size(), 3);
  EXPECT_EQ(summary.epochs(), 1);
  ASSERT_EQ(summary.history_size(), 1);
  EXPECT_EQ(summary.history(0).metrics(0).value(), 0.5);
}

TEST(JobTableTest, AWaitingWatcherHearsOfNews) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string id, table.Add(v1::JobSpec(), ""));
  std::thread watcher([&] {
    int64_t progress_seen = 0;
    ASSERT_OK_AND_ASSIGN(const JobTable::Events events,
                         table.WaitForEvents(id, 1, &progress_seen, absl::InfiniteFuture()));
    EXPECT_EQ(events.events.at(0).state().state(), v1::STARTING);
  });
  table.SetState(id, v1::STARTING);
  watcher.join();
}

TEST(JobTableTest, CloseEndsAllWaits) {
  JobTable table;
  std::thread taker([&] { EXPECT_EQ(table.TakeNext(), std::nullopt); });
  table.Close();
  taker.join();
}

TEST(JobTableTest, TheDaemonsEndFailsWhatHasNotEnded) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string running, table.Add(v1::JobSpec(), ""));
  ASSERT_OK_AND_ASSIGN(const std::string queued, table.Add(v1::JobSpec(), ""));
  table.Finish(running, v1::SUCCEEDED, "", v1::JobSummary());
  table.Close();
  table.FailUnended("the daemon shuts down");
  EXPECT_EQ(table.Get(running)->state(), v1::SUCCEEDED);
  EXPECT_EQ(table.Get(queued)->error(), "the daemon shuts down");
  EXPECT_THAT(table.Add(v1::JobSpec(), ""),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shuts down")));
}

TEST(JobTableTest, OldEndedJobsAreForgottenRunningOnesAreNot) {
  JobTable table;
  ASSERT_OK_AND_ASSIGN(const std::string running, table.Add(v1::JobSpec(), ""));
  for (size_t i = 0; i <= JobTable::kMostEndedJobs; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::string id, table.Add(v1::JobSpec(), absl::StrCat("request ", i)));
    table.Finish(id, v1::SUCCEEDED, "", v1::JobSummary());
  }
  EXPECT_EQ(table.List().size(), JobTable::kMostEndedJobs + 1);
  EXPECT_OK(table.Get(running));
}

TEST(JobTableTest, AnUnknownJobIsNotFound) {
  JobTable table;
  EXPECT_THAT(table.Get("nonsense"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("nonsense")));
  EXPECT_THAT(table.Get(""), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no job has been submitted")));
  EXPECT_THAT(table.Cancel("nonsense"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("nonsense")));
}

}  // namespace
}  // namespace lockstep

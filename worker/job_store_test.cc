#include "worker/job_store.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobRecord Record(int64_t number, v1::JobState state) {
  JobRecord record;
  record.number = number;
  record.job.set_id(absl::StrCat("job-", number));
  record.job.set_state(state);
  record.job.set_created_unix_ms(1'700'000'000'000 + number);
  record.spec.set_name("toy");
  record.spec.mutable_fit()->set_epochs(3);
  return record;
}

v1::JobEvent Event(int64_t sequence, const std::string& message) {
  v1::JobEvent event;
  event.set_sequence(sequence);
  event.set_message(message);
  return event;
}

class JobStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = absl::StrCat(::testing::TempDir(), "/job-store-XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = absl::StrCat(pattern, "/state");
    path_ = absl::StrCat(directory_, "/jobs.sqlite");
  }

  void Reopen() {
    store_ = nullptr;
    ASSERT_OK_AND_ASSIGN(store_, JobStore::Open(directory_));
  }

  absl::Status Write(const JobRecord& record, const std::vector<v1::JobEvent>& events = {}) {
    const JobStore::Update update{&record, events};
    return store_->Write({update}, {});
  }

  std::vector<JobStore::StoredJob> Load() {
    absl::StatusOr<std::vector<JobStore::StoredJob>> jobs = store_->Load();
    EXPECT_OK(jobs);
    return jobs.ok() ? *std::move(jobs) : std::vector<JobStore::StoredJob>();
  }

  // With a connection of its own, as somebody else's program.
  void ExecuteOutside(const std::string& sql) {
    store_ = nullptr;
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  std::string Contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void Overwrite(std::streamoff offset, const std::string& bytes) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offset).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.flush().good());
  }

  std::string directory_, path_;
  std::unique_ptr<JobStore> store_;
};

TEST_F(JobStoreTest, EverythingOfAJobComesBack) {
  Reopen();
  JobRecord record = Record(7, v1::FAILED);
  record.request_id = "request \"7\"";
  record.last_generation = 3;
  record.cancel_requested = true;
  record.job.set_error("rank 1 lost");
  record.job.mutable_summary()->set_steps(21);
  record.job.mutable_summary()->add_history()->set_epoch(1);
  ASSERT_OK(Write(record, {Event(1, "first"), Event(2, "second")}));
  Reopen();
  const std::vector<JobStore::StoredJob> jobs = Load();
  ASSERT_EQ(jobs.size(), 1);
  record.job.set_name("toy");  // the specification's
  EXPECT_EQ(jobs[0].record.job.DebugString(), record.job.DebugString());
  EXPECT_EQ(jobs[0].record.spec.DebugString(), record.spec.DebugString());
  EXPECT_EQ(jobs[0].record.request_id, record.request_id);
  EXPECT_EQ(jobs[0].record.number, 7);
  EXPECT_EQ(jobs[0].record.last_generation, 3);
  EXPECT_TRUE(jobs[0].record.cancel_requested);
  ASSERT_EQ(jobs[0].events.size(), 2);
  EXPECT_EQ(jobs[0].events[1].DebugString(), Event(2, "second").DebugString());
}

TEST_F(JobStoreTest, JobsComeBackInTheOrderOfTheirSubmission) {
  Reopen();
  for (const int64_t number : {9, 10, 2}) ASSERT_OK(Write(Record(number, v1::QUEUED)));
  Reopen();
  std::vector<int64_t> numbers;
  for (const JobStore::StoredJob& job : Load()) numbers.push_back(job.record.number);
  EXPECT_THAT(numbers, ElementsAre(2, 9, 10));
}

TEST_F(JobStoreTest, AJobThatChangesKeepsItsEvents) {
  Reopen();
  ASSERT_OK(Write(Record(1, v1::QUEUED), {Event(1, "first")}));
  ASSERT_OK(Write(Record(1, v1::RUNNING), {Event(2, "second")}));
  const std::vector<JobStore::StoredJob> jobs = Load();
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_EQ(jobs[0].record.job.state(), v1::RUNNING);
  EXPECT_EQ(jobs[0].events.size(), 2);
}

TEST_F(JobStoreTest, ARemovedJobIsGoneWithItsEvents) {
  Reopen();
  ASSERT_OK(Write(Record(1, v1::SUCCEEDED), {Event(1, "first")}));
  ASSERT_OK(Write(Record(2, v1::QUEUED)));
  ASSERT_OK(store_->Write({}, {1}));
  ASSERT_OK(Write(Record(1, v1::QUEUED), {Event(1, "of another job")}));
  Reopen();
  const std::vector<JobStore::StoredJob> jobs = Load();
  ASSERT_EQ(jobs.size(), 2);
  ASSERT_EQ(jobs[0].events.size(), 1);
  EXPECT_EQ(jobs[0].events[0].message(), "of another job");
}

TEST_F(JobStoreTest, AWriteThatFailsChangesNothing) {
  Reopen();
  ASSERT_OK(Write(Record(1, v1::QUEUED), {Event(1, "first")}));
  const JobRecord changed = Record(1, v1::RUNNING), other = Record(2, v1::QUEUED);
  const std::vector<v1::JobEvent> twice = {Event(1, "again")};
  const JobStore::Update good{&other, {}}, bad{&changed, twice};
  EXPECT_THAT(store_->Write({good, bad}, {}), StatusIs(absl::StatusCode::kUnknown, HasSubstr(path_)));
  const std::vector<JobStore::StoredJob> jobs = Load();
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_EQ(jobs[0].record.job.state(), v1::QUEUED);
}

TEST_F(JobStoreTest, OnlyTheOwnerMayLookIntoTheDirectory) {
  Reopen();
  struct stat info {};
  ASSERT_EQ(stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
}

TEST_F(JobStoreTest, ASecondOwnerIsRefusedUntilTheFirstHasGone) {
  Reopen();
  EXPECT_THAT(JobStore::Open(directory_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path_), HasSubstr("another process"), HasSubstr("--state_dir"))));
  ASSERT_OK(Write(Record(1, v1::QUEUED)));
  store_ = nullptr;
  EXPECT_OK(JobStore::Open(directory_));
}

TEST_F(JobStoreTest, AFileOfANewerVersionIsRefusedAndLeftAsItIs) {
  Reopen();
  ExecuteOutside("PRAGMA user_version = 2");
  const std::string before = Contents();
  EXPECT_THAT(JobStore::Open(directory_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                   AllOf(HasSubstr(path_), HasSubstr("has version 2"))));
  EXPECT_EQ(Contents(), before);
}

TEST_F(JobStoreTest, AFileOfSomethingElseIsRefusedAndLeftAsItIs) {
  std::filesystem::create_directory(directory_);
  ExecuteOutside("CREATE TABLE letters(text TEXT)");
  const std::string before = Contents();
  EXPECT_THAT(JobStore::Open(directory_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                   AllOf(HasSubstr(path_), HasSubstr("something else"))));
  EXPECT_EQ(Contents(), before);
}

TEST_F(JobStoreTest, ADamagedFileIsNamedAndLeftAsItIs) {
  Reopen();
  ASSERT_OK(Write(Record(1, v1::QUEUED), {Event(1, std::string(100'000, 'x'))}));
  store_ = nullptr;  // all is in the main file now
  const std::string whole = Contents();
  // The head of the file; the first page behind it; a page in the middle.
  for (const std::streamoff offset : {0, 4096, static_cast<int>(whole.size()) / 2 / 4096 * 4096}) {
    Overwrite(offset, std::string(64, '\xff'));
    const std::string damaged = Contents();
    EXPECT_THAT(JobStore::Open(directory_),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(path_), HasSubstr("move it away"))))
        << offset;
    EXPECT_EQ(Contents(), damaged) << offset;
    Overwrite(0, whole);
  }
  Reopen();
  EXPECT_EQ(Load().size(), 1);
}

TEST_F(JobStoreTest, RowsThatCannotBeReadAreDamage) {
  const std::vector<std::string> damages = {
      "UPDATE jobs SET spec = x'ff'",    "UPDATE jobs SET summary = x'ff'", "UPDATE jobs SET state = 99",
      "UPDATE events SET event = x'ff'", "UPDATE events SET sequence = 2",
  };
  for (const std::string& damage : damages) {
    std::filesystem::remove_all(directory_);
    Reopen();
    ASSERT_OK(Write(Record(1, v1::QUEUED), {Event(1, "first")}));
    ExecuteOutside(damage);
    Reopen();
    EXPECT_THAT(store_->Load(),
                StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(path_), HasSubstr("job-1"))))
        << damage;
  }
}

TEST_F(JobStoreTest, ADirectoryThatCannotBeMadeIsNamed) {
  std::ofstream(directory_) << "a file";
  EXPECT_THAT(JobStore::Open(directory_), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(directory_)));
}

// Files of this process may not grow beyond what they have, while this object lives: to the store as a full
// disk.
class FullDisk {
 public:
  FullDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit full = before_;
    full.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(JobStoreTest, AFullDiskCostsNothingThatWasStoredAndIsOverWhenThereIsRoom) {
  Reopen();
  ASSERT_OK(Write(Record(1, v1::QUEUED), {Event(1, "first")}));
  {
    FullDisk full;
    EXPECT_THAT(Write(Record(1, v1::RUNNING), {Event(2, "second")}).ToString(), HasSubstr(path_));
  }
  EXPECT_EQ(Load().at(0).events.size(), 1);
  ASSERT_OK(Write(Record(1, v1::RUNNING), {Event(2, "second")}));
  Reopen();
  const std::vector<JobStore::StoredJob> jobs = Load();
  EXPECT_EQ(jobs.at(0).record.job.state(), v1::RUNNING);
  EXPECT_EQ(jobs.at(0).events.size(), 2);
}

TEST_F(JobStoreTest, WhatWasWrittenSurvivesAnOwnerThatIsKilled) {
  // A copy of the files while they are open is what a killed process leaves.
  Reopen();
  ASSERT_OK(Write(Record(1, v1::QUEUED), {Event(1, "first")}));
  const std::string left = absl::StrCat(directory_, "-left");
  std::filesystem::copy(directory_, left);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<JobStore> heir, JobStore::Open(left));
  ASSERT_OK_AND_ASSIGN(const std::vector<JobStore::StoredJob> jobs, heir->Load());
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_EQ(jobs[0].events.size(), 1);
}

}  // namespace
}  // namespace lockstep

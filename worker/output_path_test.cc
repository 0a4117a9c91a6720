#include "worker/output_path.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/test_support.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class OutputPathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(WriteFile("saved/latest", "step-000000000007"));
    ASSERT_OK(WriteFile("steps_only/step-000000000007/manifest.json", "{}"));
    ASSERT_OK(WriteFile("plain/file", ""));
    ASSERT_EQ(symlink(".", Below("to_root").c_str()), 0);
    ASSERT_EQ(symlink("plain", Below("latest").c_str()), 0);
  }

  absl::Status WriteFile(const std::string& path, const std::string& text) {
    if (absl::Status made = CreateDirectories(files_, ParentDirectory(Below(path))); !made.ok()) return made;
    return WriteWholeFile(files_, Below(path), text);
  }

  std::string Below(const std::string& path) const { return absl::StrCat(root_, "/", path); }

  void ExpectFileRefused(const std::string& path, const std::string& problem) {
    v1::JobSpec spec;
    spec.mutable_predict()->set_output(path);
    for (const absl::Status& status : {ResolveOutputFile(files_, root_, path, "predict.output").status(),
                                       CheckOutputPaths(files_, root_, spec)})
      ExpectRefused(status, "predict.output", problem);
  }

  void ExpectDirectoryRefused(const std::string& path, const std::string& problem) {
    v1::JobSpec spec;
    spec.mutable_checkpoint()->set_directory(path);
    for (const absl::Status& status : {ResolveOutput(files_, root_, path, "checkpoint.directory").status(),
                                       CheckOutputPaths(files_, root_, spec)})
      ExpectRefused(status, "checkpoint.directory", problem);
  }

  static void ExpectRefused(const absl::Status& status, const std::string& field,
                            const std::string& problem) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field)));
    EXPECT_THAT(status.message(), HasSubstr(problem));
  }

  FileSystem* const files_ = FileSystem::Posix();
  const std::string root_ = MakeTestDirectory();
};

TEST_F(OutputPathTest, TheRootItselfIsNoOutput) {
  for (const std::string& path : {std::string("."), std::string("plain/.."), std::string("to_root"), root_}) {
    ExpectFileRefused(path, "is the root directory");
    ExpectDirectoryRefused(path, "is the root directory");
  }
}

TEST_F(OutputPathTest, AFileIsNotWrittenWhereADirectoryIsOrIsNamed) {
  ExpectFileRefused("plain", "is a directory");
  ExpectFileRefused("plain/", "is a directory");
  ExpectFileRefused("new/", "names a directory");
  ExpectFileRefused("plain/new/.", "names a directory");
}

TEST_F(OutputPathTest, NothingIsWrittenWithinADirectoryOfCheckpoints) {
  for (const std::string directory : {"saved", "steps_only"}) {
    for (const std::string below : {"/p.npy", "/step-000000000007/p.npy", "/best/a/b/p.npy"})
      ExpectFileRefused(directory + below, "/" + directory + ", whose files are its job's own");
    ExpectDirectoryRefused(directory + "/best", "/" + directory + ", whose files are its job's own");
  }
  // A directory of checkpoints itself is what a job goes on with; a link `latest` to a directory makes none.
  EXPECT_OK(ResolveOutput(files_, root_, "saved", "checkpoint.directory"));
  EXPECT_OK(ResolveOutput(files_, root_, "plain", "checkpoint.directory"));
}

TEST_F(OutputPathTest, OtherPlacesBelowTheRootServeAndNothingIsMadeThere) {
  for (const std::string path : {"new.npy", "a/b/new.npy", "plain/file"})
    EXPECT_OK(ResolveOutputFile(files_, root_, path, "predict.output"));
  EXPECT_FALSE(files_->GetKind(Below("a")).ok());
  ExpectFileRefused("../outside.npy", "not below the root directory");
  ExpectDirectoryRefused("/outside", "not below the root directory");
}

TEST_F(OutputPathTest, TheBestCheckpointMayBeRead) {
  v1::JobSpec spec;
  spec.set_task(v1::JobSpec::EVALUATE);
  spec.mutable_checkpoint()->set_directory("saved/best");
  EXPECT_OK(CheckOutputPaths(files_, root_, spec));
}

TEST_F(OutputPathTest, ARootThatIsMissingIsMadeByAJobButNotByACheck) {
  v1::JobSpec spec;
  spec.mutable_predict()->set_output("p.npy");
  EXPECT_OK(CheckOutputPaths(files_, Below("later"), spec));
  EXPECT_FALSE(files_->GetKind(Below("later")).ok());
  EXPECT_OK(ResolveOutputFile(files_, Below("later"), "p.npy", "predict.output"));
  EXPECT_OK(files_->GetKind(Below("later")));
}

}  // namespace
}  // namespace lockstep

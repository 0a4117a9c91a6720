// Mistakes in flags and files: one line on standard error, and the exit code for them.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/lockstep_runner.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kToyJob[] = R"(
    model { input { shape: 4 } layers { dense { units: 3 } } }
    compile { loss { sparse_categorical_crossentropy { from_logits: true } } }
    data { train { synthetic { rows: 10 feature_shape: 4 classes: 3 } } }
    fit { epochs: 1 batch_size: 2 seed: 1 }
    on_failure: FAIL)";

class LockstepUsageTest : public ::testing::Test {
 protected:
  void ExpectRefused(const std::string& arguments, int exit_code, const std::string& message) {
    SCOPED_TRACE(arguments);
    const LockstepRunner::Result result = runner_.Run(arguments);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, StartsWith("lockstep: "));
    EXPECT_THAT(result.errors, HasSubstr(message));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  }

  LockstepRunner runner_;
};

TEST_F(LockstepUsageTest, MistakesInFlagsAreExitCode2) {
  ExpectRefused("", 2, "A subcommand is required");
  ExpectRefused("frobnicate", 2, "there is no command \"frobnicate\"");
  ExpectRefused("submit", 2, "job is required");
  ExpectRefused("local --workers 0 job", 2, "--workers: Value 0 not in range");
  ExpectRefused("local --no_such_flag job", 2, "--no_such_flag");
  ExpectRefused("submit --summary s.json job", 2, "--summary requires --watch");
  ExpectRefused("evaluate --workers 2 --address h:1 job", 2, "excludes");
  ExpectRefused("jobs --address nonsense", 2, "--address \"nonsense\"");
  ExpectRefused("cancel", 2, "job is required");
  ExpectRefused("export --checkpoint x --output m.h5", 2, ".safetensors or .npz");
}

TEST_F(LockstepUsageTest, DirectoriesThatCannotServeAreExitCode2) {
  runner_.Write("job", kToyJob);
  ExpectRefused("local --data_root /nonexistent job", 2, "--data_root /nonexistent is no directory");
  ExpectRefused("local --output_root /proc/none job", 2, "--output_root cannot be made");
  ExpectRefused("local --output_root /proc job", 2, "--output_root /proc cannot be written to");
  ExpectRefused("local --logs job job", 2, "File exists");
  ExpectRefused("local --lockstepd / job", 2, "cannot run /: not a regular file");
  ExpectRefused("export --checkpoint x --output /nonexistent/m.npz", 2, "/nonexistent is no directory");
  ASSERT_OK(FileSystem::Posix()->CreateDirectory(runner_.directory() + "/d.npz"));
  ExpectRefused("export --checkpoint x --output d.npz", 2, "d.npz: is a directory");
}

TEST_F(LockstepUsageTest, PathsOutsideOfTheRootsAreRefusedWithTheFile) {
  runner_.Write("job", absl::StrCat(kToyJob, " initial_weights: '/etc/passwd'"));
  ExpectRefused("validate job", 2, "job: initial_weights: /etc/passwd");
  runner_.Write("job", absl::StrCat(kToyJob, " checkpoint { directory: '/outside' }"));
  ExpectRefused("validate job", 2, "job: checkpoint.directory: /outside");
  ExpectRefused("local job", 2, "job: checkpoint.directory: /outside");
  runner_.Write("job", absl::StrCat(kToyJob, " checkpoint { directory: 'saved' }"));
  ExpectRefused("predict --workers 1 --output .. job", 2, "job: predict.output is \"..\"");
  ExpectRefused("predict --workers 1 --output /outside job", 2, "job: predict.output: /outside");
}

TEST_F(LockstepUsageTest, WhatTheDataContradictsIsNamedWithFileAndField) {
  runner_.Write("job", absl::StrReplaceAll(kToyJob, {{"seed: 1", "steps_per_epoch: 99"}}));
  ExpectRefused("validate job", 2, "job: fit.steps_per_epoch 99");
}

TEST_F(LockstepUsageTest, FlagsMayStandOnBothSidesOfTheJob) {
  ExpectRefused("validate --workers 2 no_such_file", 2, "no_such_file");
  ExpectRefused("validate no_such_file --workers 2", 2, "no_such_file");
}

TEST_F(LockstepUsageTest, MistakesInTheJobAreExitCode2WithLineAndColumn) {
  runner_.Write("job", "model {\n  inpt {}\n}\n");
  for (const std::string command : {"validate", "local", "submit", "evaluate"})
    ExpectRefused(command + " job", 2, "job: line 2 column 8");
  ExpectRefused("validate - < job", 2, "standard input: line 2 column 8");
}

TEST_F(LockstepUsageTest, WhatOnlyTheCheckFindsNamesTheField) {
  runner_.Write("job", "model {} compile {} data {}");
  for (const std::string command : {"validate", "local"})
    ExpectRefused(command + " job", 2, "job: fit is required");
}

TEST_F(LockstepUsageTest, AnUnreachableClusterIsExitCode3) {
  runner_.Write("job", "");
  // Nobody but root could listen on port 1.
  for (const std::string command :
       {"submit job", "submit --watch job", "watch", "status", "jobs", "cancel j", "cluster"})
    ExpectRefused(command + " --address 127.0.0.1:1 --connect_timeout 0.2", 3, "no lockstep daemon answers");
}

TEST_F(LockstepUsageTest, ASummaryThatCannotBeWrittenIsFoundBeforeTheJobRuns) {
  ExpectRefused("local --summary missing/s.json " + runner_.Path("examples/toy.textproto"), 2,
                "--summary missing/s.json");
  ExpectRefused("local --summary . " + runner_.Path("examples/toy.textproto"), 2, "is a directory");
}

TEST_F(LockstepUsageTest, ASummaryReplacesWhatALinkLeadsToAndNotTheLink) {
  runner_.Write("job", "model {");
  runner_.Write("old.json", "old");
  const std::string link = runner_.directory() + "/link.json";
  ASSERT_EQ(symlink("old.json", link.c_str()), 0);
  runner_.Run("local --summary link.json job");
  EXPECT_EQ(runner_.ReadJson("old.json")["state"], "FAILED");
}

TEST_F(LockstepUsageTest, TheSummaryTellsOfRefusedJobsToo) {
  runner_.Write("job", "model {");
  EXPECT_EQ(runner_.Run("local --summary s.json job").exit_code, 2);
  const nlohmann::json summary = runner_.ReadJson("s.json");
  EXPECT_EQ(summary["state"], "FAILED");
  EXPECT_THAT(summary["error"].get<std::string>(), HasSubstr("line 1 column 8"));
}

TEST_F(LockstepUsageTest, OutputThatCannotBeWrittenIsExitCode2) {
  runner_.Write("job", kToyJob);
  for (const std::string command : {"validate job", "--help", "--version", "local job"}) {
    ExpectRefused(command + " > /dev/full", 2, "cannot write all of standard output");
    ExpectRefused(command + " >&-", 2, "cannot write all of standard output");
  }
}

TEST_F(LockstepUsageTest, AJobIsReadFromPipesAndDevices) {
  runner_.Write("job", kToyJob);
  // To dash a here-document is a pipe.
  const std::string from_pipe = absl::StrCat("validate /dev/stdin <<'END'\n", kToyJob, "\nEND\n");
  for (const std::string& command : {std::string("validate /dev/stdin < job"), from_pipe}) {
    const LockstepRunner::Result result = runner_.Run(command);
    EXPECT_EQ(result.exit_code, 0) << command << ": " << result.errors;
    EXPECT_THAT(result.output, HasSubstr("Batch: global 2"));
  }
  ExpectRefused("validate /dev/null", 2, "/dev/null: model is required");
  ExpectRefused("validate /dev/zero", 2, "/dev/zero has more than 16777216 bytes");
  ExpectRefused("validate - < /dev/zero", 2, "standard input has more than 16777216 bytes");
}

TEST_F(LockstepUsageTest, HelpIsExitCode0) {
  EXPECT_THAT(runner_.Run("--help").output, HasSubstr("Subcommands:"));
  for (const std::string command : {"local", "validate", "submit", "watch", "status", "jobs", "cancel",
                                    "cluster", "evaluate", "predict", "export"}) {
    const LockstepRunner::Result result = runner_.Run(command + " --help");
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_THAT(result.output, HasSubstr("Usage: lockstep " + command));
  }
}

TEST_F(LockstepUsageTest, ValidateShowsTheJob) {
  const LockstepRunner::Result result =
      runner_.Run("validate --workers 3 " + runner_.Path("examples/toy.textproto"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("Batch: global 32 = 11+11+10 over 3 ranks"));
  EXPECT_EQ(result.errors, "");
}

}  // namespace
}  // namespace lockstep

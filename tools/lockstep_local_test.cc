// `lockstep local` with real daemons.
#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/child_process.h"
#include "tools/lockstep_runner.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Minutes(1);

// Runs until it is stopped.
constexpr char kEndlessJob[] = R"(
  model { input { shape: [20] } layers { dense { units: 2 } } }
  compile { loss { sparse_categorical_crossentropy { from_logits: true } } }
  data { train { synthetic { rows: 1000 feature_shape: [20] classes: 2 } } }
  fit { epochs: 1000000000 batch_size: 32 seed: 1 }
)";

class LockstepLocalTest : public ::testing::Test {
 protected:
  std::string Toy() const { return runner_.Path("examples/toy.textproto"); }

  // `lockstep local` on the endless job, once it trains.
  std::unique_ptr<ChildProcess> StartEndlessJob() {
    runner_.Write("endless", kEndlessJob);
    absl::StatusOr<std::unique_ptr<ChildProcess>> process = ChildProcess::Start(
        {runner_.Path("tools/lockstep"),
         {"local", "--workers=2", "--data_root=" + runner_.directory(), "--logs=" + runner_.directory(),
          "--summary=" + runner_.directory() + "/summary.json", runner_.directory() + "/endless"},
         {},
         runner_.directory() + "/output"});
    if (!process.ok()) return nullptr;
    const absl::Time deadline = absl::Now() + kPatience;
    while (runner_.Read("output").find("Epoch 2/") == std::string::npos && absl::Now() < deadline)
      absl::SleepFor(absl::Milliseconds(10));
    return *std::move(process);
  }

  int Daemons() const { return LockstepRunner::CountProcesses("--data_root=" + runner_.directory()); }

  LockstepRunner runner_;
};

TEST_F(LockstepLocalTest, TrainsTheToyOnTwoRanks) {
  const LockstepRunner::Result result = runner_.Run("local --workers 2 --summary s.json " + Toy());
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.output, HasSubstr("global batch 32 = 16+16 over 2 ranks"));
  const nlohmann::json summary = runner_.ReadJson("s.json");
  EXPECT_EQ(summary["state"], "SUCCEEDED");
  EXPECT_EQ(summary["error"], "");
  EXPECT_EQ(summary["epochs"], 3);
  EXPECT_EQ(summary["steps"], 96);
  EXPECT_EQ(summary["world_size"], 2);
  EXPECT_EQ(summary["history"].size(), 3);
  EXPECT_EQ(summary["history"][2], summary["metrics"]);
  EXPECT_EQ(summary["ranks"].size(), 2);
  EXPECT_EQ(summary["ranks"][0]["rows"].get<int>() + summary["ranks"][1]["rows"].get<int>(), 3000);
  EXPECT_EQ(summary["parameter_hash"].get<std::string>().size(), 16);
}

TEST_F(LockstepLocalTest, ASecondRunOfTheToySucceeds) {
  ASSERT_EQ(runner_.Run("local --workers 1 " + Toy()).exit_code, 0);
  EXPECT_EQ(runner_.Run("local --workers 1 " + Toy()).exit_code, 0);
}

TEST_F(LockstepLocalTest, TheTrainedModelCanBeEvaluatedPredictedWithAndExported) {
  ASSERT_EQ(runner_.Run("local --workers 1 --output_root . " + Toy()).exit_code, 0);
  const LockstepRunner::Result evaluated = runner_.Run("evaluate --workers 2 --summary e.json " + Toy());
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.errors;
  EXPECT_THAT(evaluated.output, HasSubstr("\nloss: 0."));
  EXPECT_EQ(runner_.ReadJson("e.json")["evaluated_rows"], 1000);

  const LockstepRunner::Result predicted =
      runner_.Run("predict --workers 2 --checkpoint toy --output p.npy " + Toy());
  EXPECT_EQ(predicted.exit_code, 0) << predicted.errors;
  // 128 bytes of header, two logits per row.
  EXPECT_EQ(runner_.Read("p.npy").size(), 128 + 1000 * 2 * 4);

  EXPECT_THAT(runner_.Run("export --checkpoint toy --output m.npz").output,
              HasSubstr("m.npz: 4 tensors with 738 parameters"));
}

TEST_F(LockstepLocalTest, JsonIsOneObjectPerEvent) {
  const LockstepRunner::Result result = runner_.Run("local --workers 2 --json " + Toy());
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::vector<std::string> kinds;
  nlohmann::json last;
  for (const absl::string_view line : absl::StrSplit(result.output, '\n', absl::SkipEmpty())) {
    last = nlohmann::json::parse(line);
    kinds.push_back(last["event"]);
  }
  EXPECT_EQ(kinds.front(), "submitted");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "fit_begin"), 1);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "epoch_end"), 3);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "summary"), 1);
  EXPECT_EQ(last["event"], "state");
  EXPECT_EQ(last["state"], "SUCCEEDED");
}

TEST_F(LockstepLocalTest, AJobThatFailsIsExitCode1AndKeepsTheLogs) {
  runner_.Write("job", R"(
    model { input { shape: [20] } layers { dense { units: 2 } } }
    compile { loss { sparse_categorical_crossentropy { from_logits: true } } }
    data { train { npy { features: "x.npy" labels: "y.npy" } } }
    fit { epochs: 1 batch_size: 32 seed: 1 }
  )");
  const LockstepRunner::Result result = runner_.Run("local --workers 2 --logs logs --summary s.json job");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("\nFAILED: "));
  EXPECT_THAT(result.errors, HasSubstr("x.npy"));
  EXPECT_THAT(result.errors, HasSubstr("the daemons' logs are in logs"));
  EXPECT_THAT(runner_.Read("logs/rank-1.log"), HasSubstr("rank 1 of 2"));
  EXPECT_EQ(runner_.ReadJson("s.json")["state"], "FAILED");
  EXPECT_THAT(runner_.ReadJson("s.json")["error"].get<std::string>(), HasSubstr("x.npy"));
}

TEST_F(LockstepLocalTest, AMissingDaemonIsExitCode2) {
  const LockstepRunner::Result result =
      runner_.Run("local --lockstepd no_such_file --summary s.json " + Toy());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("cannot run no_such_file"));
  EXPECT_EQ(runner_.ReadJson("s.json")["state"], "FAILED");
}

TEST_F(LockstepLocalTest, ADaemonThatEndsAtOnceIsExitCode2) {
  const LockstepRunner::Result result = runner_.Run("local --logs logs --lockstepd /bin/false " + Toy());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("the daemon of rank 0 ended with exit code 1"));
}

TEST_F(LockstepLocalTest, AnInterruptCancelsTheJobAndStopsTheDaemons) {
  const std::unique_ptr<ChildProcess> process = StartEndlessJob();
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(Daemons(), 3) << runner_.Read("output");  // and lockstep itself
  process->Signal(SIGINT);
  ASSERT_TRUE(process->WaitUntil(absl::Now() + kPatience));
  EXPECT_EQ(process->Ended(), "exit code 1") << runner_.Read("output");
  EXPECT_EQ(Daemons(), 0);
  EXPECT_EQ(runner_.ReadJson("summary.json")["state"], "CANCELLED");
}

TEST_F(LockstepLocalTest, DaemonsDoNotOutliveAKilledOwner) {
  const std::unique_ptr<ChildProcess> process = StartEndlessJob();
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(Daemons(), 3) << runner_.Read("output");
  process->Signal(SIGKILL);
  ASSERT_TRUE(process->WaitUntil(absl::Now() + kPatience));
  // The kernel kills them; somebody else reaps them.
  const absl::Time deadline = absl::Now() + kPatience;
  while (Daemons() > 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(Daemons(), 0);
}

}  // namespace
}  // namespace lockstep

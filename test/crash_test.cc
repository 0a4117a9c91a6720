// A34: a chief that saves after every step is killed at random moments, again and again. What stands under
// the names of checkpoints is always whole, and training goes on from it.
//
// Two environment variables make the nightly version of it: LOCKSTEP_CRASH_UNITS, the width of the layer
// (three buffers of width squared times 4 bytes are saved), and LOCKSTEP_CRASH_KILLS.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/checkpoint_files.h"
#include "test/cluster.h"
#include "test/files.h"
#include "test/jobs.h"
#include "worker/checkpoint_format.h"

namespace lockstep {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kKeep = 2;
// Moments are drawn from this time after a step was reported: several steps and saves of the small model.
constexpr int kMostDelayUs = 30'000;

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  int value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

v1::JobSpec SavingJob(int units) {
  v1::JobSpec spec = ParseJobOrDie(R"(
      model { input { shape: 1 } layers { dense { use_bias: false } } }
      compile { optimizer { adam {} } loss { sparse_categorical_crossentropy { from_logits: true } } }
      data { train { synthetic { rows: 4000 classes: 10 } } }
      fit { epochs: 1000 batch_size: 4 seed: 1 }
      threading { intra_op_threads: 1 }
      checkpoint { directory: "saved" every_steps: 1 })");
  spec.mutable_model()->mutable_input()->set_shape(0, units);
  spec.mutable_model()->mutable_layers(0)->mutable_dense()->set_units(units);
  spec.mutable_data()->mutable_train()->mutable_synthetic()->add_feature_shape(units);
  spec.mutable_checkpoint()->set_keep(kKeep);
  return spec;
}

class CrashTest : public ::testing::Test {
 protected:
  static ClusterOptions TwoRanks() {
    ClusterOptions options;
    options.world_size = 2;
    return options;
  }

  std::string directory() const { return cluster_.output_path("saved"); }

  std::vector<std::string> Names() const {
    absl::StatusOr<std::vector<std::string>> names = FileSystem::Posix()->ListDirectory(directory());
    EXPECT_OK(names);
    return *std::move(names);
  }

  // What `latest` names is there, and is the newest one or, for a moment of each save, the one before.
  void ExpectLatestNamesOneOf(int64_t newest) const {
    const std::string latest = ReadFileOrDie(absl::StrCat(directory(), "/", kLatestFile));
    const std::optional<int64_t> step = StepOfDirectory(absl::StripAsciiWhitespace(latest));
    ASSERT_TRUE(step.has_value()) << latest;
    EXPECT_THAT(*step, AnyOf(newest, newest - 1));
    EXPECT_THAT(Names(), Contains(StepDirectory(*step)));
  }

  // Follows the job for a few steps after step `from`, then for a random time more.
  // Returns the last step that was reported.
  int64_t FollowForAMoment(const std::string& id, int64_t from) {
    const int64_t wanted = from + std::uniform_int_distribution<int>(2, 6)(random_);
    int64_t seen = 0;
    EXPECT_OK(client_
                  .AwaitEvent(id,
                              [wanted, &seen](const v1::JobEvent& event) {
                                if (event.has_progress()) seen = event.progress().global_step();
                                return seen >= wanted;
                              })
                  .status());
    absl::SleepFor(absl::Microseconds(std::uniform_int_distribution<int>(0, kMostDelayUs)(random_)));
    return seen;
  }

  Cluster cluster_{TwoRanks()};
  JobClient client_ = cluster_.client();
  std::minstd_rand random_;
};

TEST_F(CrashTest, A34EveryRestartFindsAWholeCheckpointOfTheLastStepOrTheOneBefore) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  random_.seed(seed);
  const v1::JobSpec spec = SavingJob(FromEnvironment("LOCKSTEP_CRASH_UNITS", 500));
  int64_t saved = 0;
  for (int kill = 0; kill < FromEnvironment("LOCKSTEP_CRASH_KILLS", 15); ++kill) {
    SCOPED_TRACE(absl::StrCat("kill ", kill));
    ASSERT_OK_AND_ASSIGN(const std::string id, client_.Submit(spec));
    if (saved > 0) {
      // The message comes before the first step; it names the checkpoint that stood there after the kill.
      ASSERT_OK_AND_ASSIGN(const v1::JobEvent resumed, client_.AwaitEvent(id, [](const v1::JobEvent& event) {
        return !event.message().empty();
      }));
      EXPECT_THAT(resumed.message(), HasSubstr(absl::StrCat("resumed from ", NewestCheckpoint(directory()))));
    }
    const int64_t seen = FollowForAMoment(id, saved);
    cluster_.daemon(0).Kill();
    // A step is reported when it is about to be saved; the one before is being written then, and the one
    // before that is durable.
    saved = ReadManifest(directory()).step();
    EXPECT_GE(saved, seen - 2);
    ExpectLatestNamesOneOf(saved);
    cluster_.Launch(0);
    cluster_.AwaitListening(0);
    client_ = cluster_.client();
  }
  // What the kills left behind is cleared by the next job.
  v1::JobSpec last = spec;
  last.mutable_fit()->set_epochs(1);
  last.mutable_fit()->set_steps_per_epoch(saved + 1);
  ASSERT_OK_AND_ASSIGN(const v1::Job job, client_.Run(last));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  EXPECT_EQ(job.summary().steps(), saved + 1);
  for (const std::string& name : Names()) {
    EXPECT_TRUE(name == kLatestFile || StepOfDirectory(name).has_value()) << name;
  }
  EXPECT_EQ(Names().size(), 1u + kKeep);
}

}  // namespace
}  // namespace lockstep

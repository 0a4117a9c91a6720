// Training that goes on after all daemons have died in the middle of it.
#include <memory>
#include <string>
#include <vector>

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

using ::testing::HasSubstr;

constexpr char kSgd[] = "sgd { learning_rate { constant: 0.1 } }";
constexpr char kMomentum[] = "sgd { learning_rate { constant: 0.1 } momentum: 0.9 }";

// What the second life of a job did.
struct Resumed {
  v1::Job job;
  std::vector<int64_t> epochs;  // that it reported
  std::string messages;
};

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() { WriteFileOrDie(cluster_.data_path("line.csv"), "x,y\n1,1\n"); }

  static ClusterOptions TwoRanks() {
    ClusterOptions options;
    options.world_size = 2;
    return options;
  }

  // One row x = 1, y = 1, one step per epoch: the gradient is 2 (w - 1).
  static v1::JobSpec Probe(const std::string& optimizer, int epochs) {
    return LineJob(optimizer, absl::StrCat("epochs: ", epochs, " batch_size: 1 seed: 1"));
  }

  // Trains until the checkpoint of at least `epochs` epochs is there, kills every daemon with the job under
  // way, and starts new ones. Returns the epochs of that checkpoint.
  int64_t TrainAndKill(const v1::JobSpec& spec, int epochs) {
    // A pass over so many rows, one at a time, keeps each epoch from ending before the kill.
    v1::JobSpec slow = spec;
    *slow.mutable_data()->mutable_validation() =
        ParseJobOrDie("data { train { synthetic { rows: 30000 feature_shape: 1 classes: 2 } } }")
            .data()
            .train();
    JobClient client = cluster_.client();
    const absl::StatusOr<std::string> id = client.Submit(slow);
    EXPECT_OK(id);
    // An epoch's checkpoint is written during the next one, and is durable before that one is saved.
    EXPECT_OK(client
                  .AwaitEvent(*id,
                              [epochs](const v1::JobEvent& event) {
                                return event.has_progress() && event.progress().epoch() > epochs + 1;
                              })
                  .status());
    for (int rank = 0; rank < 2; ++rank) cluster_.daemon(rank).Kill();
    const int64_t saved = ReadManifest(cluster_.output_path("line")).epoch();
    EXPECT_GE(saved, epochs);
    EXPECT_LT(saved, spec.fit().epochs());
    cluster_.LaunchAll();
    return saved;
  }

  Resumed Resume(const v1::JobSpec& spec) {
    JobClient client = cluster_.client();
    Resumed resumed;
    const absl::StatusOr<std::string> id = client.Submit(spec);
    EXPECT_OK(id);
    const absl::StatusOr<std::vector<v1::JobEvent>> events = client.Events(*id);
    EXPECT_OK(events);
    for (const v1::JobEvent& event : *events) {
      if (event.has_epoch_end()) resumed.epochs.push_back(event.epoch_end().epoch());
      absl::StrAppend(&resumed.messages, event.message());
    }
    resumed.job = *client.GetJob(*id);
    EXPECT_EQ(resumed.job.state(), v1::SUCCEEDED) << resumed.job.error();
    return resumed;
  }

  static std::vector<int64_t> EpochsAfter(int64_t done, int64_t last) {
    std::vector<int64_t> epochs;
    for (int64_t epoch = done + 1; epoch <= last; ++epoch) epochs.push_back(epoch);
    return epochs;
  }

  float Weight() { return ReadModel(cluster_.output_path("line")).at("dense/kernel")[0]; }

  Cluster cluster_{TwoRanks()};
};

TEST_F(ResumeTest, A35ExactlyTheEpochsThatAreLeftAreRun) {
  const v1::JobSpec spec = Probe(kSgd, 10);
  const int64_t done = TrainAndKill(spec, 4);
  const Resumed resumed = Resume(spec);
  EXPECT_EQ(resumed.epochs, EpochsAfter(done, 10));
  EXPECT_EQ(resumed.job.summary().steps(), 10);
  EXPECT_NEAR(Weight(), 0.8926258, 1e-6) << "1 - 0.8^10";

  const Resumed again = Resume(spec);
  EXPECT_EQ(again.epochs, EpochsAfter(10, 10));
  EXPECT_THAT(again.messages, HasSubstr("nothing to do"));
  EXPECT_EQ(again.job.summary().steps(), 10);
}

TEST_F(ResumeTest, A36TheVelocityIsRestored) {
  // The weights after 3 to 6 epochs in one life; a lost velocity gives 0.9504 in the fourth.
  const std::vector<double> expected = {0.938, 1.3086, 1.58042, 1.708974};
  const int64_t done = TrainAndKill(Probe(kMomentum, 6), 3);
  EXPECT_NEAR(Weight(), expected[done - 3], 1e-6);
  for (int64_t epochs = done + 1; epochs <= 6; ++epochs) {
    EXPECT_EQ(Resume(Probe(kMomentum, static_cast<int>(epochs))).epochs, EpochsAfter(epochs - 1, epochs));
    EXPECT_NEAR(Weight(), expected[epochs - 3], 1e-6) << epochs;
  }
}

}  // namespace
}  // namespace lockstep

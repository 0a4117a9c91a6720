// Fits whose checkpoints are written in the background: what is saved is the state of the step although
// training goes on, and what on_error makes of a write that fails.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/fake_file_system.h"
#include "base/hash.h"
#include "base/status_matchers.h"
#include "data/open_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/checkpoint_format.h"
#include "worker/checkpoint_store.h"
#include "worker/replica_state.h"
#include "worker/test_support.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;

constexpr char kDirectory[] = "/checkpoints";
constexpr int64_t kFull = 100, kRoom = int64_t{1} << 30;  // bytes of the disk

// Three steps per epoch, with adam. Saved after every epoch unless `checkpoint` says otherwise.
FitRun MakeRun(FileSystem* files, int epochs, const std::string& checkpoint = "") {
  FitRun run;
  run.spec = ParseJobOrDie(absl::StrFormat(
      R"(model { input { shape: 4 } layers { dense { units: 3 activation: RELU } } layers { dense { units: 2 } } }
         compile { loss { sparse_categorical_crossentropy { from_logits: true } } optimizer { adam {} } }
         data { train { synthetic { rows: 24 feature_shape: 4 classes: 2 } shuffle: true } }
         fit { epochs: %d batch_size: 8 seed: 1 }
         checkpoint { directory: "%s" %s })",
      epochs, kDirectory + 1, checkpoint));
  run.data = [spec = run.spec](int) { return *OpenTrainingData(spec, "."); };
  run.output_root = "/";
  run.file_system = files;
  return run;
}

// Does something at the beginning and at the end of an epoch, and keeps the messages.
struct Script : public FitListener {
  void OnFitBegin(const v1::FitBegin&) override { at_begin(); }
  void OnEpochEnd(const v1::EpochEnd& end) override { at_epoch(end.epoch()); }
  void OnMessage(absl::string_view text) override { messages.emplace_back(text); }

  std::function<void()> at_begin = [] {};
  std::function<void(int64_t)> at_epoch = [](int64_t) {};
  std::vector<std::string> messages;
};

// The parameters and slots of a checkpoint as `run` has them.
void ExpectHolds(const LoadedCheckpoint& checkpoint, const FitRun& run, const RankResult& expected) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Replica> replica,
                       Replica::Create(run.spec.model(), run.spec.compile()));
  ASSERT_OK(RestoreAll(checkpoint, replica.get()));
  EXPECT_EQ(std::vector<float>(replica->parameters().begin(), replica->parameters().end()),
            expected.parameters);
  for (size_t i = 0; i < expected.slots.size(); ++i) {
    EXPECT_EQ(std::vector<float>(replica->slots()[i].begin(), replica->slots()[i].end()), expected.slots[i]);
  }
  EXPECT_EQ(checkpoint.manifest().parameter_hash(), HashToHex(replica->ParameterHash()));
}

// Loads the newest checkpoint, which must be whole, and returns its step; 0 if there is none.
int64_t NewestStep(FileSystem* files) {
  std::vector<std::string> damaged;
  const absl::StatusOr<LoadedCheckpoint> newest = CheckpointStore::LoadNewestOf(files, kDirectory, &damaged);
  EXPECT_THAT(damaged, IsEmpty());
  if (absl::IsNotFound(newest.status())) return 0;
  EXPECT_OK(newest);
  return newest.ok() ? newest->manifest().step() : -1;
}

void ExpectNothingPartial(FileSystem* files) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files->ListDirectory(kDirectory));
  for (const std::string& name : names) {
    if (!StepOfDirectory(name).has_value()) continue;
    EXPECT_OK(LoadedCheckpoint::Load(files, absl::StrCat(kDirectory, "/", name)));
  }
}

TEST(BackgroundCheckpointTest, TrainingGoesOnDuringAWriteAndWhatIsWrittenIsTheStateOfItsStep) {
  FakeFileSystem files, others;
  FitRun two_steps = MakeRun(&others, 1);
  two_steps.spec.mutable_fit()->set_steps_per_epoch(2);
  const std::vector<RankResult> expected = FitInProcess(two_steps, 2);
  ASSERT_OK(expected[0].summary);

  FitRun run = MakeRun(&files, 1, "every_steps: 2");
  Script script;
  script.at_begin = [&files] { files.Hold(); };
  // With the third step behind it; the write of the second one has not even begun.
  script.at_epoch = [&files](int64_t) { files.Release(); };
  run.chief_listener = &script;
  const std::vector<RankResult> results = FitInProcess(run, 2);
  ASSERT_OK(results[0].summary);
  EXPECT_EQ(NewestStep(&files), 3);
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint second,
                       LoadedCheckpoint::Load(&files, absl::StrCat(kDirectory, "/", StepDirectory(2))));
  ExpectHolds(second, run, expected[0]);
  EXPECT_NE(results[0].parameters, expected[0].parameters);
}

TEST(BackgroundCheckpointTest, TheSummaryOfRankZeroCountsCheckpoints) {
  FakeFileSystem files;
  const std::vector<RankResult> results =
      FitInProcess(MakeRun(&files, 3, "keep_best { monitor: \"loss\" }"), 2);
  ASSERT_OK(results[0].summary);
  EXPECT_GE(results[0].summary->checkpoints(), 4) << "three epochs, the first of them the best so far";
  EXPECT_GT(results[0].summary->checkpoint_stall_seconds(), 0);
  EXPECT_GT(results[0].summary->checkpoint_write_seconds(), 0);
  EXPECT_EQ(results[1].summary->checkpoints(), 0);
  EXPECT_EQ(results[1].summary->checkpoint_stall_seconds(), 0);
}

bool AnyOfMessages(const Script& script, const std::string& text) {
  for (const std::string& message : script.messages)
    if (absl::StrContains(message, text)) return true;
  return false;
}

TEST(BackgroundCheckpointTest, WhatIsSavedLastAreTheBestParametersIfTheyWereRestored) {
  FakeFileSystem files;
  FitRun run = MakeRun(&files, 3, "keep_best { monitor: \"loss\" mode: MIN }");
  run.spec.mutable_fit()->mutable_early_stopping()->set_monitor("loss");
  run.spec.mutable_fit()->mutable_early_stopping()->set_mode(v1::MAX);  // the first epoch stays the best one
  run.spec.mutable_fit()->mutable_early_stopping()->set_patience(10);
  run.spec.mutable_fit()->mutable_early_stopping()->set_restore_best_weights(true);
  const std::vector<RankResult> results = FitInProcess(run, 2);
  ASSERT_OK(results[0].summary);
  std::vector<std::string> damaged;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint newest,
                       CheckpointStore::LoadNewestOf(&files, kDirectory, &damaged));
  // The step that was copied a moment before as the best one, but with other parameters.
  ExpectHolds(newest, run, results[0]);
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint best,
                       LoadedCheckpoint::Load(&files, absl::StrCat(kDirectory, "/", kBestDirectory)));
  EXPECT_EQ(best.manifest().step(), newest.manifest().step());
  EXPECT_NE(best.manifest().parameter_hash(), newest.manifest().parameter_hash());
}

// The disk is full from the end of epoch `from` until that of epoch `to`.
void MakeFull(FakeFileSystem* files, int64_t from, int64_t to, Script* script) {
  script->at_epoch = [=](int64_t epoch) {
    if (epoch == from) files->SetCapacity(kFull);
    if (epoch == to) files->SetCapacity(kRoom);
  };
}

TEST(BackgroundCheckpointTest, AWriteThatFailsFailsTheFitOnAllRanks) {
  for (const int full_from : {1, 3}) {  // that of the last epoch fails when nothing is left to do
    FakeFileSystem files;
    FitRun run = MakeRun(&files, 3);
    Script script;
    MakeFull(&files, full_from, /*to=*/100, &script);
    run.chief_listener = &script;
    for (const RankResult& result : FitInProcess(run, 2)) {
      EXPECT_THAT(result.summary.status(),
                  StatusIs(absl::StatusCode::kResourceExhausted,
                           AllOf(HasSubstr("the checkpoint of step"), HasSubstr("No space left on device"))));
    }
    EXPECT_THAT(script.messages, Each(Not(HasSubstr("cannot be saved"))));
    ExpectNothingPartial(&files);
  }
}

TEST(BackgroundCheckpointTest, AWriteThatFailsIsSeenLongBeforeTheNextOneIsDue) {
  FakeFileSystem files;
  // Saved once in the epoch; many more steps follow than a write that fails at once takes.
  FitRun run = MakeRun(&files, 1, "every_steps: 5001");
  run.spec.mutable_fit()->set_batch_size(1);
  run.spec.mutable_data()->mutable_train()->mutable_synthetic()->set_rows(10'000);
  run.data = [spec = run.spec](int) { return *OpenTrainingData(spec, "."); };
  Script script;
  bool epoch_ended = false;
  script.at_begin = [&] { files.SetCapacity(kFull); };
  script.at_epoch = [&](int64_t) { epoch_ended = true; };
  run.chief_listener = &script;
  EXPECT_THAT(FitInProcess(run, 1)[0].summary.status(), StatusIs(absl::StatusCode::kResourceExhausted, _));
  EXPECT_FALSE(epoch_ended);
}

TEST(BackgroundCheckpointTest, WithWarnAWriteThatFailsIsToldAndTheNextOneIsTried) {
  FakeFileSystem files;
  FitRun run = MakeRun(&files, 5, "on_error: WARN");
  Script script;
  MakeFull(&files, 2, /*to=*/5, &script);
  run.chief_listener = &script;
  const std::vector<RankResult> results = FitInProcess(run, 2);
  ASSERT_OK(results[0].summary);
  ASSERT_OK(results[1].summary);
  // Those of the steps 6 and 9; the one before may have been under way, the one behind not yet.
  EXPECT_THAT(script.messages, Contains(AllOf(HasSubstr("the checkpoint of step 9 cannot be saved"),
                                              HasSubstr("No space left on device"), HasSubstr("tried"))));
  EXPECT_EQ(NewestStep(&files), 15);
  EXPECT_THAT(results[0].summary->checkpoints(), AllOf(Ge(1), Le(3)));
}

TEST(BackgroundCheckpointTest, WithWarnEvenTheLastOneFailsNothing) {
  FakeFileSystem files;
  FitRun run = MakeRun(&files, 2, "on_error: WARN");
  Script script;
  MakeFull(&files, 2, /*to=*/100, &script);
  run.chief_listener = &script;
  ASSERT_OK(FitInProcess(run, 2)[0].summary);
  EXPECT_THAT(script.messages, Contains(AllOf(HasSubstr("the checkpoint of step 6 cannot be saved"),
                                              HasSubstr("none is due any more"))));
}

class OnErrorTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OnErrorTest, AFaultAtAnyOperationOfAFitCostsNoCheckpoint) {
  const std::string policy = absl::StrCat("keep: 1 on_error: ", GetParam());
  int64_t operations = 0;
  {
    FakeFileSystem files;
    ASSERT_OK(FitInProcess(MakeRun(&files, 1, policy), 1)[0].summary);
    FitRun run = MakeRun(&files, 3, policy);
    Script script;
    script.at_begin = [&] { operations = files.operations(); };
    run.chief_listener = &script;
    ASSERT_OK(FitInProcess(run, 1)[0].summary);
    operations = files.operations() - operations;
  }
  ASSERT_GT(operations, 40) << "two saves, each of four files";
  for (int64_t at = 0; at < operations; ++at) {
    SCOPED_TRACE(absl::StrCat("operation ", at));
    FakeFileSystem files;
    ASSERT_OK(FitInProcess(MakeRun(&files, 1, policy), 1)[0].summary);
    FitRun run = MakeRun(&files, 3, policy);
    Script script;
    script.at_begin = [&] { files.FailAt(at, absl::PermissionDeniedError("Permission denied")); };
    run.chief_listener = &script;
    const std::vector<RankResult> results = FitInProcess(run, 1);
    const bool told = AnyOfMessages(script, "cannot be saved");
    EXPECT_TRUE(results[0].summary.ok() || run.spec.checkpoint().on_error() != v1::Checkpoint::WARN);
    EXPECT_TRUE(!told || run.spec.checkpoint().on_error() == v1::Checkpoint::WARN);
    // Two saves, of the steps 6 and 9. At most one of them failed.
    const int64_t newest = NewestStep(&files);
    EXPECT_GE(newest, results[0].summary.ok() && !told ? 9 : 3);
    ExpectNothingPartial(&files);
    // What failed can be done again.
    const std::vector<RankResult> again = FitInProcess(MakeRun(&files, 4, policy), 1);
    ASSERT_OK(again[0].summary);
    EXPECT_EQ(again[0].summary->steps(), 12);
    EXPECT_EQ(NewestStep(&files), 12);
  }
}

INSTANTIATE_TEST_SUITE_P(BothPolicies, OnErrorTest, ::testing::Values("FAIL", "WARN"),
                         [](const auto& info) { return std::string(info.param); });

TEST(BackgroundCheckpointTest, ACheckpointOnAnotherRankIsIgnored) {
  FakeFileSystem chiefs, others;
  const auto run_each = [&](int epochs) {
    return FitInProcessEach({MakeRun(&chiefs, epochs), MakeRun(&others, epochs)});
  };
  // As left behind by a job in which that process was the chief.
  ASSERT_OK(FitInProcess(MakeRun(&others, 1), 1)[0].summary);
  const int64_t operations = others.operations();
  const std::vector<RankResult> anew = run_each(2);
  ASSERT_OK(anew[0].summary);
  EXPECT_EQ(anew[1].summary->history_size(), 2) << "nothing was resumed";
  const std::vector<RankResult> resumed = run_each(4);
  ASSERT_OK(resumed[0].summary);
  EXPECT_EQ(resumed[1].summary->history(0).epoch(), 3);
  EXPECT_EQ(resumed[1].parameters, resumed[0].parameters);
  EXPECT_EQ(NewestStep(&chiefs), 12);
  EXPECT_EQ(others.operations(), operations) << "not even looked at";
}

}  // namespace
}  // namespace lockstep

#include "worker/checkpoint_writer.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fake_file_system.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/checkpoint_format.h"
#include "worker/checkpoint_store.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Target = CheckpointWriter::Target;
using Unsynced = FakeFileSystem::Unsynced;

constexpr char kDirectory[] = "/out/job";
constexpr int kKeep = 2;
constexpr size_t kSize = 5;  // no multiple of what tensors are padded to

// What a training loop has: buffers that change with every step, in place.
class Training {
 public:
  void StepTo(int64_t step) {
    step_ = step;
    for (size_t i = 0; i < kSize; ++i) {
      parameters_[i] = static_cast<float>(step * 100) + static_cast<float>(i);
      moments_[i] = -parameters_[i];
    }
  }

  std::vector<absl::Span<const float>> buffers() const { return {parameters_, moments_}; }

  CheckpointContents Contents() const {
    CheckpointContents contents;
    contents.manifest.set_step(step_);
    contents.model = {{"kernel", {kSize - 1}, absl::MakeConstSpan(parameters_).first(kSize - 1)},
                      {"bias", {1}, absl::MakeConstSpan(parameters_).last(1)}};
    contents.optimizer = {{"m/kernel", {kSize}, moments_}};
    return contents;
  }

  std::vector<float> values() const {
    std::vector<float> values = parameters_;
    values.insert(values.end(), moments_.begin(), moments_.end());
    return values;
  }

 private:
  int64_t step_ = 0;
  std::vector<float> parameters_ = std::vector<float>(kSize), moments_ = std::vector<float>(kSize);
};

Training AtStep(int64_t step) {
  Training training;
  training.StepTo(step);
  return training;
}

std::vector<float> ValuesOf(const LoadedCheckpoint& checkpoint) {
  std::vector<float> values(2 * kSize);
  const absl::Span<float> all = absl::MakeSpan(values);
  EXPECT_OK(checkpoint.ReadModel(
      {{"kernel", {kSize - 1}, all.first(kSize - 1)}, {"bias", {1}, all.subspan(kSize - 1, 1)}}));
  EXPECT_OK(checkpoint.ReadOptimizer({{"m/kernel", {kSize}, all.last(kSize)}}));
  return values;
}

// A store and its writer, which can be made anew after a crash.
class CheckpointWriterTest : public ::testing::Test {
 protected:
  CheckpointWriterTest() { Open(); }

  void Open() {
    writer_.reset();
    store_ = CheckpointStore::Open(&files_, kDirectory, kKeep).value();
    writer_ = std::make_unique<CheckpointWriter>(store_.get());
  }

  // An error is of a write before.
  absl::Status Save(Target target, const Training& training) {
    RETURN_IF_ERROR(writer_->Copy(training.buffers()).status());
    writer_->Write(target, training.Contents());
    return absl::OkStatus();
  }

  absl::Status SaveAndFlush(int64_t step) {
    RETURN_IF_ERROR(Save(Target::kStep, AtStep(step)));
    return writer_->Flush();
  }

  // Of the newest checkpoint, which must be whole; -1 with a failure otherwise.
  int64_t NewestStep() {
    std::vector<std::string> damaged;
    const absl::StatusOr<LoadedCheckpoint> newest = store_->LoadNewest(&damaged);
    EXPECT_OK(newest);
    EXPECT_THAT(damaged, IsEmpty());
    if (!newest.ok()) return -1;
    EXPECT_EQ(ValuesOf(*newest), AtStep(newest->manifest().step()).values());
    return newest->manifest().step();
  }

  // What stands under the name of a checkpoint is whole, and nothing has a name that tells nothing.
  void ExpectNothingPartial() {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files_.ListDirectory(kDirectory));
    for (const std::string& name : names) {
      if (name == kLatestFile || absl::StartsWith(name, kTemporaryPrefix)) continue;
      EXPECT_TRUE(StepOfDirectory(name).has_value() || name == kBestDirectory) << name;
      EXPECT_OK(LoadedCheckpoint::Load(&files_, absl::StrCat(kDirectory, "/", name)));
    }
  }

  // Of a save that removes an old checkpoint, as all later ones do; it is the one of the step kKeep + 1.
  int64_t OperationsOfASave() {
    for (int64_t step = 1; step <= kKeep; ++step) EXPECT_OK(SaveAndFlush(step));
    const int64_t before = files_.operations();
    EXPECT_OK(SaveAndFlush(kKeep + 1));
    return files_.operations() - before;
  }

  FakeFileSystem files_;
  std::unique_ptr<CheckpointStore> store_;
  std::unique_ptr<CheckpointWriter> writer_;
};

TEST_F(CheckpointWriterTest, WhatIsWrittenIsTheStateOfTheSaveHoweverTrainingGoesOn) {
  Training training = AtStep(7);
  files_.Hold();
  ASSERT_OK(Save(Target::kStep, training));
  training.StepTo(8);
  files_.Release();
  ASSERT_OK(writer_->Flush());
  EXPECT_EQ(NewestStep(), 7);
  // The copy is used again.
  ASSERT_OK(Save(Target::kStep, training));
  training.StepTo(9);
  ASSERT_OK(writer_->Flush());
  EXPECT_EQ(NewestStep(), 8);
  EXPECT_EQ(writer_->stats().written, 2);
}

TEST_F(CheckpointWriterTest, TheNextSaveWaitsForTheOneBefore) {
  for (int64_t step = 1; step <= 20; ++step) {
    ASSERT_OK(Save(Target::kStep, AtStep(step)));
    EXPECT_GE(writer_->stats().written, step - 1);
  }
  ASSERT_OK(writer_->Flush());
  EXPECT_EQ(NewestStep(), 20);
}

TEST_F(CheckpointWriterTest, TheHashesAreThoseOfTheBuffers) {
  const Training training = AtStep(2);
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> hashes, writer_->Copy(training.buffers()));
  const std::vector<float> values = training.values();
  EXPECT_THAT(hashes, ElementsAre(Hash64(values.data(), kSize * sizeof(float)),
                                  Hash64(values.data() + kSize, kSize * sizeof(float))));
}

TEST_F(CheckpointWriterTest, TheBestAndTheStepsCheckpointShareACopy) {
  Training training = AtStep(3);
  files_.Hold();
  ASSERT_OK(Save(Target::kBest, training));
  writer_->Write(Target::kStep, training.Contents());  // would wait for ever if it needed the copy's memory
  training.StepTo(4);
  files_.Release();
  ASSERT_OK(writer_->Flush());
  EXPECT_EQ(NewestStep(), 3);
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint best, store_->LoadBest());
  EXPECT_EQ(ValuesOf(best), AtStep(3).values());
}

TEST_F(CheckpointWriterTest, AnErrorIsReturnedOnceByTheNextSaveWhichThenSavesNothing) {
  files_.FailAt(3, absl::ResourceExhaustedError("No space left on device"));
  ASSERT_OK(Save(Target::kStep, AtStep(1)));
  EXPECT_THAT(Save(Target::kStep, AtStep(2)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("the checkpoint of step 1 cannot be saved"),
                             HasSubstr("No space left on device"))));
  EXPECT_THAT(files_.ListDirectory(kDirectory).value(), IsEmpty());
  ASSERT_OK(SaveAndFlush(3));
  EXPECT_EQ(NewestStep(), 3);
  EXPECT_EQ(writer_->stats().written, 1);
}

TEST_F(CheckpointWriterTest, FlushReturnsTheErrorsOfAllThatWasQueuedOneByOne) {
  const Training training = AtStep(1);
  files_.Hold();
  ASSERT_OK(Save(Target::kBest, training));
  writer_->Write(Target::kStep, training.Contents());
  EXPECT_OK(writer_->TakeError()) << "nothing has ended";
  files_.CrashAt(0);
  files_.Release();
  EXPECT_THAT(writer_->Flush(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("best checkpoint of step 1")));
  EXPECT_THAT(writer_->TakeError(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the checkpoint of step 1")));
  EXPECT_OK(writer_->Flush());
}

TEST_F(CheckpointWriterTest, TheDestructorWaitsForWhatIsQueued) {
  const Training training = AtStep(5);
  ASSERT_OK(Save(Target::kBest, training));
  writer_->Write(Target::kStep, training.Contents());
  writer_.reset();
  EXPECT_EQ(NewestStep(), 5);
  EXPECT_OK(store_->LoadBest());
}

TEST_F(CheckpointWriterTest, AFaultAtAnyOperationCostsNoCheckpointAndTheNextSaveSucceeds) {
  int64_t step = kKeep + 1;
  const int64_t operations = OperationsOfASave();
  for (int64_t at = 0; at < operations; ++at) {
    SCOPED_TRACE(absl::StrCat("operation ", at));
    ++step;
    files_.FailAt(at, absl::PermissionDeniedError("Permission denied"));
    const absl::Status saved = SaveAndFlush(step);
    const int64_t newest = NewestStep();
    EXPECT_THAT(newest, AnyOf(saved.ok() ? step : step - 1, step));
    ExpectNothingPartial();
    ASSERT_OK(SaveAndFlush(++step));
    EXPECT_EQ(NewestStep(), step);
  }
}

TEST_F(CheckpointWriterTest, ACrashAtAnyOperationCostsNoCheckpointAndTheNextSaveSucceeds) {
  int64_t step = kKeep + 1;
  const int64_t operations = OperationsOfASave();
  for (const Unsynced unsynced : {Unsynced::kKept, Unsynced::kLost, Unsynced::kNamesKept}) {
    for (int64_t at = 0; at < operations; ++at) {
      SCOPED_TRACE(absl::StrCat("operation ", at));
      ++step;
      files_.CrashAt(at);
      const bool saved = SaveAndFlush(step).ok();
      files_.Restart(unsynced);
      Open();
      EXPECT_THAT(NewestStep(), AnyOf(saved ? step : step - 1, step));
      ExpectNothingPartial();
      ASSERT_OK(SaveAndFlush(++step));
      EXPECT_EQ(NewestStep(), step);
    }
  }
}

}  // namespace
}  // namespace lockstep

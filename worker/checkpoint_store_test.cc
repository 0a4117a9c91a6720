#include "worker/checkpoint_store.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/crc32c.h"
#include "base/fake_file_system.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/checkpoint_format.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Unsynced = FakeFileSystem::Unsynced;

constexpr char kDirectory[] = "/out/job";

// A model of two tensors and an optimizer of one, whose values tell the step, and the epoch they were saved
// in (a step can be saved twice).
class Trained {
 public:
  explicit Trained(int64_t step, int64_t epoch = 0) : step_(step), epoch_(epoch) {
    for (size_t i = 0; i < kernel_.size(); ++i) kernel_[i] = Value(i);
    bias_[0] = Value(100);
    moment_[0] = Value(200);
  }

  CheckpointContents Contents() const {
    CheckpointContents contents;
    contents.manifest.set_step(step_);
    contents.manifest.set_epoch(epoch_);
    (*contents.manifest.mutable_metrics())["loss"] = 0.1;
    contents.model = {{"dense/kernel", {2, 3}, kernel_}, {"dense/bias", {1}, bias_}};
    contents.optimizer = {{"m/dense/bias", {1}, moment_}};
    return contents;
  }

  // Reads `checkpoint` and compares all of it.
  void ExpectEqual(const LoadedCheckpoint& checkpoint) const {
    std::vector<float> kernel(6), bias(1), moment(1);
    ASSERT_OK(checkpoint.ReadModel(
        {{"dense/kernel", {2, 3}, absl::MakeSpan(kernel)}, {"dense/bias", {1}, absl::MakeSpan(bias)}}));
    ASSERT_OK(checkpoint.ReadOptimizer({{"m/dense/bias", {1}, absl::MakeSpan(moment)}}));
    EXPECT_EQ(checkpoint.manifest().epoch(), epoch_);
    EXPECT_EQ(kernel, kernel_);
    EXPECT_EQ(bias, bias_);
    EXPECT_EQ(moment, moment_);
  }

 private:
  float Value(size_t i) const {
    return static_cast<float>(step_ * 1000 + epoch_ * 500) + static_cast<float>(i);
  }

  int64_t step_, epoch_;
  std::vector<float> kernel_ = std::vector<float>(6), bias_ = {0}, moment_ = {0};
};

std::unique_ptr<CheckpointStore> OpenStore(FileSystem* files, int keep = 3) {
  return CheckpointStore::Open(files, kDirectory, keep).value();
}

absl::Status SaveStep(FileSystem* files, int64_t step, int keep = 3) {
  return OpenStore(files, keep)->Save(Trained(step).Contents());
}

// Loads the newest checkpoint, which must be whole, and returns its step; -1 with a failure otherwise.
int64_t LoadWhole(FileSystem* files) {
  std::vector<std::string> skipped;
  const absl::StatusOr<LoadedCheckpoint> checkpoint = OpenStore(files)->LoadNewest(&skipped);
  EXPECT_OK(checkpoint);
  EXPECT_THAT(skipped, IsEmpty()) << "a crash must leave nothing damaged";
  if (!checkpoint.ok()) return -1;
  Trained(checkpoint->manifest().step(), checkpoint->manifest().epoch()).ExpectEqual(*checkpoint);
  return checkpoint->manifest().step();
}

std::vector<std::string> Names(FileSystem* files) { return files->ListDirectory(kDirectory).value(); }

std::string Latest(FileSystem* files) {
  return ReadWholeFile(files, absl::StrCat(kDirectory, "/", kLatestFile), 100).value_or("(none)");
}

std::string InStep(int64_t step, const std::string& name) {
  return absl::StrCat(kDirectory, "/", StepDirectory(step), "/", name);
}

TEST(CheckpointStoreTest, WhatIsSavedIsLoaded) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 812));
  EXPECT_EQ(LoadWhole(&files), 812);
  EXPECT_EQ(Latest(&files), "step-000000000812\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files.ListDirectory(InStep(812, "")));
  EXPECT_THAT(names, ElementsAre(kManifestFile, kManifestChecksumFile, kModelFile, kOptimizerFile));
}

TEST(CheckpointStoreTest, TheManifestIsReadableAndKeepsEveryField) {
  FakeFileSystem files;
  const Trained trained(5);
  CheckpointContents contents = trained.Contents();
  contents.manifest.set_seed(std::numeric_limits<uint64_t>::max());
  (*contents.manifest.mutable_metrics())["val_loss"] = std::nan("");
  (*contents.manifest.mutable_metrics())["third"] = 1.0 / 3;
  contents.manifest.mutable_callbacks()->set_cooldown_left(7);
  ASSERT_OK(OpenStore(&files)->Save(contents));
  std::vector<std::string> skipped;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint checkpoint, OpenStore(&files)->LoadNewest(&skipped));
  EXPECT_EQ(checkpoint.manifest().seed(), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(std::isnan(checkpoint.manifest().metrics().at("val_loss")));
  EXPECT_EQ(checkpoint.manifest().metrics().at("third"), 1.0 / 3);
  EXPECT_EQ(checkpoint.manifest().callbacks().cooldown_left(), 7);
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadWholeFile(&files, InStep(5, kManifestFile), 1 << 20));
  EXPECT_THAT(json, AllOf(HasSubstr("\"format_version\": 1"), HasSubstr("\"crc32c\": "), HasSubstr("\n")));
}

TEST(CheckpointStoreTest, NoCheckpointIsNotFound) {
  FakeFileSystem files;
  std::vector<std::string> skipped;
  EXPECT_THAT(OpenStore(&files)->LoadNewest(&skipped),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(kDirectory)));
  EXPECT_THAT(CheckpointStore::LoadNewestOf(&files, "/nowhere", &skipped),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere")));
}

TEST(CheckpointStoreTest, TheNewestOnesAreKept) {
  FakeFileSystem files;
  const std::unique_ptr<CheckpointStore> store = OpenStore(&files, /*keep=*/2);
  for (const int64_t step : {8, 9, 10, 11}) ASSERT_OK(store->Save(Trained(step).Contents()));
  EXPECT_THAT(Names(&files), ElementsAre("latest", StepDirectory(10), StepDirectory(11)));
  EXPECT_EQ(LoadWhole(&files), 11);
}

TEST(CheckpointStoreTest, TheOneThatLatestNamesIsNeverRemoved) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 100));
  ASSERT_OK(SaveStep(&files, 50, /*keep=*/1));
  EXPECT_THAT(Names(&files), ElementsAre("latest", StepDirectory(50), StepDirectory(100)));
  EXPECT_EQ(Latest(&files), "step-000000000050\n");
}

TEST(CheckpointStoreTest, KeepBelowOneIsRefused) {
  FakeFileSystem files;
  EXPECT_THAT(CheckpointStore::Open(&files, kDirectory, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("checkpoint.keep is 0")));
}

TEST(CheckpointStoreTest, SavingAStepAgainReplacesIt) {
  FakeFileSystem files;
  const std::unique_ptr<CheckpointStore> store = OpenStore(&files);
  ASSERT_OK(store->Save(Trained(7, /*epoch=*/1).Contents()));
  ASSERT_OK(store->Save(Trained(7, /*epoch=*/2).Contents()));
  std::vector<std::string> skipped;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint checkpoint, store->LoadNewest(&skipped));
  Trained(7, 2).ExpectEqual(checkpoint);
  EXPECT_THAT(Names(&files), ElementsAre("latest", StepDirectory(7)));
}

TEST(CheckpointStoreTest, TheBestOneStandsApart) {
  FakeFileSystem files;
  const std::unique_ptr<CheckpointStore> store = OpenStore(&files, /*keep=*/1);
  EXPECT_THAT(store->LoadBest(), StatusIs(absl::StatusCode::kNotFound, _));
  ASSERT_OK(store->SaveBest(Trained(1).Contents()));
  ASSERT_OK(store->SaveBest(Trained(2).Contents()));
  for (const int64_t step : {3, 4}) ASSERT_OK(store->Save(Trained(step).Contents()));
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint best, store->LoadBest());
  Trained(2).ExpectEqual(best);
  EXPECT_THAT(Names(&files), ElementsAre("best", "latest", StepDirectory(4)));
  // The directory of the best one is a checkpoint itself.
  std::vector<std::string> skipped;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint same,
                       CheckpointStore::LoadNewestOf(&files, absl::StrCat(kDirectory, "/best"), &skipped));
  Trained(2).ExpectEqual(same);
}

TEST(CheckpointStoreTest, ForeignFilesAreLeftAlone) {
  FakeFileSystem files;
  ASSERT_OK(CreateDirectories(&files, kDirectory));
  for (const char* name : {"notes.txt", "step-1", "step-00000000001x", "step-+00000000001"}) {
    ASSERT_OK(WriteWholeFile(&files, absl::StrCat(kDirectory, "/", name), "x"));
  }
  ASSERT_OK(SaveStep(&files, 2, /*keep=*/1));
  EXPECT_EQ(Names(&files).size(), 6u);
  EXPECT_EQ(LoadWhole(&files), 2);
}

TEST(CheckpointStoreTest, ShapesThatDoNotFitTheModelAreNamed) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 1));
  std::vector<std::string> skipped;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint checkpoint, OpenStore(&files)->LoadNewest(&skipped));
  std::vector<float> values(8);
  EXPECT_THAT(checkpoint.ReadModel({{"dense/kernel", {2, 4}, absl::MakeSpan(values)}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("dense/kernel: "), HasSubstr("has [2, 3], the model has [2, 4]"))));
}

TEST(CheckpointStoreTest, WhatWasLoadedCanBeReadAfterItsDirectoryIsGone) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 1));
  std::vector<std::string> skipped;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint checkpoint, OpenStore(&files)->LoadNewest(&skipped));
  ASSERT_OK(RemoveRecursively(&files, kDirectory));
  Trained(1).ExpectEqual(checkpoint);
}

// Every way in which a save can go wrong at one of its operations.
struct Fault {
  std::string name;
  absl::Status status;  // OK: a crash
  Unsynced unsynced;
};

std::vector<Fault> Faults() {
  return {{"killed", absl::OkStatus(), Unsynced::kKept},
          {"power lost", absl::OkStatus(), Unsynced::kLost},
          {"power lost, names kept", absl::OkStatus(), Unsynced::kNamesKept},
          {"disk full", absl::ResourceExhaustedError("No space left on device"), Unsynced::kKept},
          {"not permitted", absl::PermissionDeniedError("Permission denied"), Unsynced::kLost}};
}

int64_t CountOperations(const std::function<void(FakeFileSystem*)>& prepare,
                        const std::function<absl::Status(FakeFileSystem*)>& save) {
  FakeFileSystem files;
  prepare(&files);
  const int64_t before = files.operations();
  EXPECT_OK(save(&files));
  return files.operations() - before;
}

// Runs `save` on what `prepare` made, with each fault at each of its operations and just behind the last
// one, and calls `check(saved)` on the restarted machine each time.
void ForEveryFault(const std::function<void(FakeFileSystem*)>& prepare,
                   const std::function<absl::Status(FakeFileSystem*)>& save,
                   const std::function<void(FakeFileSystem*, bool)>& check) {
  const int64_t operations = CountOperations(prepare, save);
  ASSERT_GT(operations, 20) << "less than four files take";
  for (const Fault& fault : Faults()) {
    for (int64_t at = 0; at <= operations; ++at) {
      SCOPED_TRACE(absl::StrCat(fault.name, " at operation ", at));
      FakeFileSystem files;
      prepare(&files);
      if (fault.status.ok()) {
        files.CrashAt(at);
      } else {
        files.FailAt(at, fault.status);
      }
      const bool saved = save(&files).ok();
      EXPECT_TRUE(saved || at < operations);
      files.Restart(fault.unsynced);
      check(&files, saved);
    }
  }
}

void ExpectNoLeftovers(FileSystem* files) {
  EXPECT_OK(CheckpointStore::Open(files, kDirectory, 3));
  for (const std::string& name : Names(files)) {
    EXPECT_THAT(name, AllOf(Not(HasSubstr("tmp")), Not(HasSubstr("old"))));
  }
}

TEST(CheckpointStoreTest, A34AFaultAtAnyOperationLeavesAWholeCheckpoint) {
  ForEveryFault([](FakeFileSystem* files) { ASSERT_OK(SaveStep(files, 1)); },
                [](FakeFileSystem* files) {
                  absl::StatusOr<std::unique_ptr<CheckpointStore>> store =
                      CheckpointStore::Open(files, kDirectory, /*keep=*/1);
                  if (!store.ok()) return store.status();
                  return (*store)->Save(Trained(2).Contents());
                },
                [](FakeFileSystem* files, bool saved) {
                  const int64_t step = LoadWhole(files);
                  EXPECT_THAT(step, AnyOf(saved ? 2 : 1, 2));
                  ExpectNoLeftovers(files);
                  std::string named = Latest(files);
                  ASSERT_FALSE(named.empty());
                  named.pop_back();
                  EXPECT_OK(LoadedCheckpoint::Load(files, absl::StrCat(kDirectory, "/", named)));
                });
}

TEST(CheckpointStoreTest, A34AFaultWhileAStepIsReplacedLeavesTheOldOrTheNew) {
  ForEveryFault([](FakeFileSystem* files) { ASSERT_OK(SaveStep(files, 1)); },
                [](FakeFileSystem* files) {
                  absl::StatusOr<std::unique_ptr<CheckpointStore>> store =
                      CheckpointStore::Open(files, kDirectory, /*keep=*/1);
                  if (!store.ok()) return store.status();
                  return (*store)->Save(Trained(1, /*epoch=*/1).Contents());
                },
                [](FakeFileSystem* files, bool saved) {
                  EXPECT_EQ(LoadWhole(files), 1);
                  std::vector<std::string> skipped;
                  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint checkpoint,
                                       OpenStore(files)->LoadNewest(&skipped));
                  EXPECT_GE(checkpoint.manifest().epoch(), saved ? 1 : 0);
                  ExpectNoLeftovers(files);
                });
}

TEST(CheckpointStoreTest, A34AFaultWhileTheBestIsReplacedLeavesTheOldOrTheNew) {
  ForEveryFault([](FakeFileSystem* files) { ASSERT_OK(OpenStore(files)->SaveBest(Trained(1).Contents())); },
                [](FakeFileSystem* files) {
                  absl::StatusOr<std::unique_ptr<CheckpointStore>> store =
                      CheckpointStore::Open(files, kDirectory, /*keep=*/1);
                  if (!store.ok()) return store.status();
                  return (*store)->SaveBest(Trained(2).Contents());
                },
                [](FakeFileSystem* files, bool saved) {
                  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint best, OpenStore(files)->LoadBest());
                  const int64_t step = best.manifest().step();
                  EXPECT_THAT(step, AnyOf(saved ? 2 : 1, 2));
                  Trained(step).ExpectEqual(best);
                  ExpectNoLeftovers(files);
                });
}

TEST(CheckpointStoreTest, AnOrderlyFailureLeavesNoPartialFiles) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 1));
  const std::unique_ptr<CheckpointStore> store = OpenStore(&files);
  files.SetCapacity(1200);
  EXPECT_THAT(store->Save(Trained(2).Contents()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("No space left on device")));
  EXPECT_THAT(Names(&files), ElementsAre("latest", StepDirectory(1)));
  EXPECT_EQ(LoadWhole(&files), 1);
}

TEST(CheckpointStoreTest, ASaveThatFailedCanBeRepeated) {
  FakeFileSystem files;
  const std::unique_ptr<CheckpointStore> store = OpenStore(&files);
  files.FailAt(5, absl::UnknownError("Input/output error"));
  EXPECT_THAT(store->Save(Trained(2).Contents()),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("Input/output error")));
  ASSERT_OK(store->Save(Trained(2).Contents()));
  EXPECT_EQ(LoadWhole(&files), 2);
}

// Expects that step 2 is passed over for step 1, and why.
void ExpectTheOneBefore(FakeFileSystem* files, const std::string& what) {
  std::vector<std::string> skipped;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint checkpoint, OpenStore(files)->LoadNewest(&skipped));
  EXPECT_EQ(checkpoint.manifest().step(), 1);
  EXPECT_THAT(skipped, ElementsAre(AllOf(HasSubstr(StepDirectory(2)), HasSubstr(what))));
}

class DamagedCheckpointTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_OK(SaveStep(&files_, 1));
    ASSERT_OK(SaveStep(&files_, 2));
  }

  FakeFileSystem files_;
};

TEST_P(DamagedCheckpointTest, AnyFlippedByteMeansTheOneBefore) {
  const std::string path = InStep(2, GetParam());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(&files_, path, 1 << 20));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    ASSERT_OK(WriteWholeFile(&files_, path, damaged));
    ExpectTheOneBefore(&files_, GetParam());
  }
}

TEST_P(DamagedCheckpointTest, AnyTruncationMeansTheOneBefore) {
  const std::string path = InStep(2, GetParam());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadWholeFile(&files_, path, 1 << 20));
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_OK(WriteWholeFile(&files_, path, bytes.substr(0, size)));
    ExpectTheOneBefore(&files_, GetParam());
  }
}

TEST_P(DamagedCheckpointTest, AMissingFileMeansTheOneBefore) {
  ASSERT_OK(files_.RemoveFile(InStep(2, GetParam())));
  ExpectTheOneBefore(&files_, GetParam());
}

TEST_P(DamagedCheckpointTest, NoneUsableIsDataLossThatNamesEach) {
  ASSERT_OK(files_.RemoveFile(InStep(1, GetParam())));
  ASSERT_OK(files_.RemoveFile(InStep(2, GetParam())));
  std::vector<std::string> skipped;
  EXPECT_THAT(
      OpenStore(&files_)->LoadNewest(&skipped),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(StepDirectory(1)), HasSubstr(StepDirectory(2)), HasSubstr(GetParam()))));
}

TEST_P(DamagedCheckpointTest, AFileThatMayNotBeReadIsNoReasonToGoBack) {
  files_.FailAt(0, absl::PermissionDeniedError("Permission denied"));
  EXPECT_THAT(LoadedCheckpoint::Load(&files_, InStep(2, "")),
              StatusIs(absl::StatusCode::kPermissionDenied, _));
  const std::unique_ptr<CheckpointStore> store = OpenStore(&files_);
  files_.FailAt(2, absl::PermissionDeniedError("Permission denied"));
  std::vector<std::string> skipped;
  EXPECT_THAT(store->LoadNewest(&skipped), StatusIs(absl::StatusCode::kPermissionDenied, _));
}

// A parameter as part of a test's name.
std::string Title(const testing::TestParamInfo<const char*>& info) {
  std::string title;
  for (const char c : std::string(info.param)) title.push_back(c == '.' ? '_' : c);
  return title;
}

INSTANTIATE_TEST_SUITE_P(AllFiles, DamagedCheckpointTest,
                         testing::Values(kModelFile, kOptimizerFile, kManifestFile, kManifestChecksumFile),
                         Title);

// A manifest with these bytes, and the checksum that belongs to it.
void ReplaceManifest(FakeFileSystem* files, const std::string& json) {
  ASSERT_OK(WriteWholeFile(files, InStep(2, kManifestFile), json));
  ASSERT_OK(WriteWholeFile(files, InStep(2, kManifestChecksumFile),
                           absl::StrFormat("%08x\n", Crc32c(json.data(), json.size()))));
}

TEST(CheckpointManifestTest, AnotherVersionIsNamed) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 2));
  ReplaceManifest(&files, R"({"format_version": 2, "step": "2"})");
  EXPECT_THAT(LoadedCheckpoint::Load(&files, InStep(2, "")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has the format version 2, this program reads 1")));
}

TEST(CheckpointManifestTest, WhatIsNotAManifestIsRefused) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 2));
  for (const char* json : {"", "[]", "{\"step\": \"x\"}", "{\"format_version\": 1}",
                           R"({"format_version": 1, "files": [{"name": "/etc/passwd"}, {"name": "x"}]})"}) {
    ReplaceManifest(&files, json);
    EXPECT_THAT(LoadedCheckpoint::Load(&files, InStep(2, "")), testing::Not(IsOk())) << json;
  }
}

TEST(CheckpointManifestTest, ADirectoryThatHoldsAnotherStepIsDamaged) {
  FakeFileSystem files;
  ASSERT_OK(SaveStep(&files, 1));
  ASSERT_OK(SaveStep(&files, 2));
  ASSERT_OK(files.Rename(InStep(2, "").substr(0, InStep(2, "").size() - 1),
                         absl::StrCat(kDirectory, "/", StepDirectory(3))));
  std::vector<std::string> skipped;
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint checkpoint, OpenStore(&files)->LoadNewest(&skipped));
  EXPECT_EQ(checkpoint.manifest().step(), 1);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("holds step 2")));
}

}  // namespace
}  // namespace lockstep

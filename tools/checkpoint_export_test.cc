#include "tools/checkpoint_export.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/temporary_directory.h"
#include "worker/checkpoint_store.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A checkpoint directory with the steps 10 and 20, and 10 as the best one. All values are the step.
class CheckpointExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directory_, TemporaryDirectory::Create());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CheckpointStore> store,
                         CheckpointStore::Open(FileSystem::Posix(), Directory(), 3));
    ASSERT_OK(store->Save(Contents(10)));
    ASSERT_OK(store->SaveBest(Contents(10)));
    ASSERT_OK(store->Save(Contents(20)));
  }

  std::string Directory() const { return directory_->path() + "/checkpoints"; }
  std::string Output(const std::string& name) const { return directory_->path() + "/" + name; }

  CheckpointContents Contents(int64_t step) {
    values_.assign(6, static_cast<float>(step));
    CheckpointContents contents;
    contents.manifest.set_step(step);
    contents.model = {{"dense/kernel", {2, 2}, absl::MakeSpan(values_).subspan(0, 4)},
                      {"dense/bias", {2}, absl::MakeSpan(values_).subspan(4, 2)}};
    return contents;
  }

  // Whether the file, which is not compressed, holds the kernel of this step.
  bool HoldsKernelOf(int64_t step, const std::string& path) const {
    const std::vector<float> kernel(4, static_cast<float>(step));
    const absl::string_view bytes(reinterpret_cast<const char*>(kernel.data()),
                                  kernel.size() * sizeof(float));
    return absl::StrContains(ReadWholeFile(FileSystem::Posix(), path, 1 << 20).value(), bytes);
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::vector<float> values_;
  std::vector<std::string> skipped_;
};

TEST_F(CheckpointExportTest, WritesTheNewestAsNpz) {
  ASSERT_OK_AND_ASSIGN(const ExportResult result,
                       ExportCheckpoint(Directory(), WhichCheckpoint::kNewest, Output("m.npz")));
  EXPECT_EQ(result.step, 20);
  EXPECT_EQ(result.tensors, 2);
  EXPECT_EQ(result.elements, 6);
  EXPECT_TRUE(HoldsKernelOf(20, Output("m.npz")));
}

TEST_F(CheckpointExportTest, WritesTheBestOnDemand) {
  ASSERT_OK(ExportCheckpoint(Directory(), WhichCheckpoint::kBest, Output("m.npz")).status());
  EXPECT_TRUE(HoldsKernelOf(10, Output("m.npz")));
  EXPECT_FALSE(HoldsKernelOf(20, Output("m.npz")));
}

TEST_F(CheckpointExportTest, SafetensorsHoldTheTensorsOfTheCheckpoint) {
  ASSERT_OK(ExportCheckpoint(Directory(), WhichCheckpoint::kNewest, Output("m.safetensors")).status());
  ASSERT_OK_AND_ASSIGN(const SafetensorsReader reader,
                       SafetensorsReader::Open(FileSystem::Posix(), Output("m.safetensors")));
  std::vector<float> kernel(4), bias(2);
  ASSERT_OK(reader.ReadAll(
      {{"dense/kernel", {2, 2}, absl::MakeSpan(kernel)}, {"dense/bias", {2}, absl::MakeSpan(bias)}},
      "the test"));
  EXPECT_THAT(kernel, ElementsAre(20, 20, 20, 20));
  EXPECT_THAT(bias, ElementsAre(20, 20));
}

TEST_F(CheckpointExportTest, TakesTheOneBeforeADamagedNewestAndSaysSo) {
  ASSERT_OK_AND_ASSIGN(const LoadedCheckpoint newest,
                       CheckpointStore::LoadNewestOf(FileSystem::Posix(), Directory(), &skipped_));
  ASSERT_OK(WriteWholeFile(FileSystem::Posix(), newest.path() + "/model.safetensors", "damaged"));
  ASSERT_OK_AND_ASSIGN(const ExportResult result,
                       ExportCheckpoint(Directory(), WhichCheckpoint::kNewest, Output("m.npz")));
  EXPECT_EQ(result.step, 10);
  EXPECT_THAT(result.skipped, ElementsAre(HasSubstr("model.safetensors")));
}

TEST_F(CheckpointExportTest, RefusesAnEndingThatNamesNoFormat) {
  EXPECT_THAT(ExportCheckpoint(Directory(), WhichCheckpoint::kNewest, Output("m.h5")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(".safetensors or .npz")));
}

TEST_F(CheckpointExportTest, NamesADirectoryWithoutCheckpoints) {
  EXPECT_THAT(ExportCheckpoint(Output("nothing"), WhichCheckpoint::kNewest, Output("m.npz")).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing")));
}

}  // namespace
}  // namespace lockstep

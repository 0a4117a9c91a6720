#include "tools/npz_writer.h"

#include <memory>
#include <string>
#include <vector>

#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "data/open_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/data.pb.h"
#include "tools/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class NpzWriterTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(directory_, TemporaryDirectory::Create()); }

  std::string Path() const { return directory_->path() + "/model.npz"; }
  std::string File() const { return ReadWholeFile(FileSystem::Posix(), Path(), 1 << 20).value(); }

  std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(NpzWriterTest, OurReaderFindsNamesShapesAndBits) {
  const std::vector<float> kernel = {1, -2, 3.5f, 1e-30f, 5, 6}, bias = {7, 8};
  ASSERT_OK(WriteNpz({{"dense/kernel", {2, 3}, kernel}, {"dense/bias", {2}, bias}}, Path()));

  v1::Dataset source;
  source.mutable_npz()->set_path("model.npz");
  source.mutable_npz()->set_features("dense/kernel");
  source.mutable_npz()->set_labels("dense/bias");
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Dataset> dataset,
                       OpenDataset(source, {directory_->path(), LabelKind::kFloat}));
  EXPECT_EQ(dataset->info().rows, 2);
  EXPECT_THAT(dataset->info().feature_shape, ElementsAre(3));
  std::vector<float> read_kernel(6), read_bias(2);
  ASSERT_OK(dataset->Read({0, 1}, read_kernel.data(), {nullptr, read_bias.data()}));
  EXPECT_EQ(read_kernel, kernel);
  EXPECT_EQ(read_bias, bias);
}

TEST_F(NpzWriterTest, ShapesAreTuplesOfPython) {
  const std::vector<float> one = {42};
  ASSERT_OK(WriteNpz({{"scalar", {}, one}, {"vector", {1}, one}, {"empty", {0, 5}, {}}}, Path()));
  EXPECT_THAT(File(), HasSubstr("scalar.npy"));
  EXPECT_THAT(File(), HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"));
  EXPECT_THAT(File(), HasSubstr("'shape': (1,), }"));
  EXPECT_THAT(File(), HasSubstr("'shape': (0, 5), }"));
}

TEST_F(NpzWriterTest, EqualContentsGiveEqualBytesAndReplaceTheFile) {
  const std::vector<float> values = {1, 2};
  ASSERT_OK(WriteWholeFile(FileSystem::Posix(), Path(), "something else"));
  ASSERT_OK(WriteNpz({{"a", {2}, values}}, Path()));
  const std::string first = File();
  ASSERT_OK(WriteNpz({{"a", {2}, values}}, Path()));
  EXPECT_EQ(File(), first);
  EXPECT_THAT(first, Not(HasSubstr("something else")));
}

TEST_F(NpzWriterTest, RefusesANameTwiceAndAShapeThatDoesNotMatch) {
  const std::vector<float> values = {1, 2};
  EXPECT_THAT(WriteNpz({{"a", {2}, values}, {"a", {2}, values}}, Path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a\"")));
  EXPECT_THAT(WriteNpz({{"a", {3}, values}}, Path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has the shape [3] and 2 values")));
}

TEST_F(NpzWriterTest, NamesThePathThatCannotBeWritten) {
  const std::vector<float> values = {1};
  const std::string path = directory_->path() + "/missing/model.npz";
  EXPECT_THAT(WriteNpz({{"a", {1}, values}}, path), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
}

}  // namespace
}  // namespace lockstep

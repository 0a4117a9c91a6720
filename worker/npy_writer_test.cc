#include "worker/npy_writer.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/fake_file_system.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::string Bytes(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

TEST(NpyWriterTest, WritesHeaderAndRows) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(auto writer, NpyWriter::Create(&files, "/out/y.npy", {2, 3}));
  ASSERT_OK(writer->Append(Bytes({1, 2, 3})));
  ASSERT_OK(writer->Append(Bytes({4, 5, 6})));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const std::string content, ReadWholeFile(&files, "/out/y.npy", 1000));
  EXPECT_EQ(content.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t header = static_cast<unsigned char>(content[8]) + 256 * static_cast<unsigned char>(content[9]);
  EXPECT_EQ((10 + header) % 64, 0);
  EXPECT_THAT(content.substr(10, header),
              HasSubstr("'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  EXPECT_EQ(content[10 + header - 1], '\n');
  EXPECT_EQ(content.substr(10 + header), Bytes({1, 2, 3, 4, 5, 6}));
}

TEST(NpyWriterTest, AnUnfinishedFileIsNeverSeen) {
  FakeFileSystem files;
  {
    ASSERT_OK_AND_ASSIGN(auto writer, NpyWriter::Create(&files, "/out/y.npy", {2}));
    ASSERT_OK(writer->Append(Bytes({1})));
    EXPECT_THAT(writer->Finish(), StatusIs(absl::StatusCode::kInternal, HasSubstr("4 bytes are missing")));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files.ListDirectory("/out"));
  EXPECT_TRUE(names.empty());
}

TEST(NpyWriterTest, OneDimensionIsATupleOfOne) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(auto writer, NpyWriter::Create(&files, "/out/y.npy", {1}));
  ASSERT_OK(writer->Append(Bytes({1})));
  ASSERT_OK(writer->Finish());
  ASSERT_OK_AND_ASSIGN(const std::string content, ReadWholeFile(&files, "/out/y.npy", 1000));
  EXPECT_THAT(content, HasSubstr("'shape': (1,), }"));
}

}  // namespace
}  // namespace lockstep

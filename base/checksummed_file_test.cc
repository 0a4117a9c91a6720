#include "base/checksummed_file.h"

#include <memory>
#include <string>

#include "base/fake_file_system.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(ChecksummedFileTest, KeepsSizeAndChecksumOfWhatWasWritten) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<WritableFile> inner, files.CreateFile("/f"));
  ChecksummedFile file(std::move(inner));
  EXPECT_EQ(file.crc32c(), 0u);
  ASSERT_OK(file.Append("1234"));
  ASSERT_OK(file.Append("56789"));
  ASSERT_OK(file.Sync());
  ASSERT_OK(file.Close());
  EXPECT_EQ(file.bytes(), 9);
  EXPECT_EQ(file.crc32c(), 0xE3069283u);
  ASSERT_OK_AND_ASSIGN(const std::string contents, ReadWholeFile(&files, "/f", 100));
  EXPECT_EQ(contents, "123456789");
}

}  // namespace
}  // namespace lockstep

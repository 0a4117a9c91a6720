// What every FileSystem does, run on the real one and on the fake.
#include "base/file_system.h"

#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/fake_file_system.h"
#include "base/file_utilities.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileSystemTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = test->name();
    name = name.substr(0, name.find('/'));
    if (std::string(GetParam()) == "Posix") {
      files_ = FileSystem::Posix();
      directory_ = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
      ASSERT_OK(RemoveRecursively(files_, directory_));
    } else {
      files_ = &fake_;
      directory_ = "/" + name;
    }
    ASSERT_OK(files_->CreateDirectory(directory_));
  }

  std::string Path(const std::string& name) { return directory_ + "/" + name; }
  absl::Status Write(const std::string& name, const std::string& contents) {
    return WriteWholeFile(files_, Path(name), contents);
  }
  absl::StatusOr<std::string> Read(const std::string& name) {
    return ReadWholeFile(files_, Path(name), /*most_bytes=*/1 << 20);
  }

  FakeFileSystem fake_;
  FileSystem* files_ = nullptr;
  std::string directory_;
};

TEST_P(FileSystemTest, WhatIsAppendedIsReadAtAnyOffset) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> out, files_->CreateFile(Path("a")));
  ASSERT_OK(out->Append("0123"));
  ASSERT_OK(out->Append(""));
  ASSERT_OK(out->Append("456789"));
  ASSERT_OK(out->Sync());
  ASSERT_OK(out->Close());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ReadableFile> in, files_->OpenFile(Path("a")));
  EXPECT_EQ(in->size(), 10);
  std::string middle(4, '\0');
  ASSERT_OK(in->Read(3, absl::MakeSpan(&middle[0], middle.size())));
  EXPECT_EQ(middle, "3456");
  EXPECT_THAT(in->Read(7, absl::MakeSpan(&middle[0], middle.size())),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Path("a"))));
}

// Those of the real one go past the page cache but for the ends of each.
TEST_P(FileSystemTest, LargeAppendsOfAnySizeFollowEachOther) {
  std::string expected;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> out, files_->CreateFile(Path("a")));
  for (const size_t bytes : {700, 3 << 20, 1 << 20, 4097, (1 << 20) + 4095, 1}) {
    const size_t begin = expected.size();
    for (size_t i = 0; i < bytes; ++i) expected.push_back(static_cast<char>(i * 37 + i / 4096 + bytes));
    ASSERT_OK(out->Append(absl::string_view(expected).substr(begin)));
  }
  ASSERT_OK(out->Sync());
  ASSERT_OK(out->Close());
  ASSERT_OK_AND_ASSIGN(const std::string contents, ReadWholeFile(files_, Path("a"), 1 << 24));
  EXPECT_TRUE(contents == expected) << contents.size() << " bytes of " << expected.size();
}

TEST_P(FileSystemTest, CreatingAFileEmptiesTheOldOne) {
  ASSERT_OK(Write("a", "long contents"));
  ASSERT_OK(Write("a", "new"));
  ASSERT_OK_AND_ASSIGN(const std::string contents, Read("a"));
  EXPECT_EQ(contents, "new");
}

TEST_P(FileSystemTest, WhatIsMissingIsNotFoundByItsPath) {
  const auto not_found = StatusIs(absl::StatusCode::kNotFound, HasSubstr(directory_ + "/no"));
  EXPECT_THAT(files_->OpenFile(Path("no")), not_found);
  EXPECT_THAT(files_->CreateFile(Path("no/file")), not_found);
  EXPECT_THAT(files_->CreateDirectory(Path("no/directory")), not_found);
  EXPECT_THAT(files_->Rename(Path("no"), Path("a")), not_found);
  EXPECT_THAT(files_->RemoveFile(Path("no")), not_found);
  EXPECT_THAT(files_->RemoveEmptyDirectory(Path("no")), not_found);
  EXPECT_THAT(files_->ListDirectory(Path("no")), not_found);
  EXPECT_THAT(files_->GetKind(Path("no")), not_found);
  EXPECT_THAT(files_->SyncDirectory(Path("no")), not_found);
}

TEST_P(FileSystemTest, FilesAndDirectoriesAreToldApart) {
  ASSERT_OK(Write("file", "x"));
  ASSERT_OK(files_->CreateDirectory(Path("directory")));
  ASSERT_OK_AND_ASSIGN(const FileSystem::Kind file, files_->GetKind(Path("file")));
  EXPECT_EQ(file, FileSystem::Kind::kFile);
  ASSERT_OK_AND_ASSIGN(const FileSystem::Kind directory, files_->GetKind(Path("directory")));
  EXPECT_EQ(directory, FileSystem::Kind::kDirectory);
  EXPECT_THAT(files_->OpenFile(Path("directory")), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_FALSE(files_->CreateFile(Path("directory")).ok());
  EXPECT_FALSE(files_->CreateDirectory(Path("file")).ok());
  EXPECT_FALSE(files_->ListDirectory(Path("file")).ok());
  EXPECT_FALSE(files_->RemoveFile(Path("directory")).ok());
  EXPECT_FALSE(files_->RemoveEmptyDirectory(Path("file")).ok());
}

TEST_P(FileSystemTest, CreatingADirectoryTwiceIsFine) {
  ASSERT_OK(files_->CreateDirectory(Path("d")));
  ASSERT_OK(Write("d/a", "x"));
  ASSERT_OK(files_->CreateDirectory(Path("d")));
  EXPECT_OK(Read("d/a"));
}

TEST_P(FileSystemTest, NamesAreListedInOrder) {
  ASSERT_OK(Write("b", ""));
  ASSERT_OK(Write("a", ""));
  ASSERT_OK(files_->CreateDirectory(Path("c")));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files_->ListDirectory(directory_));
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST_P(FileSystemTest, RenameReplacesFilesAndEmptyDirectoriesOnly) {
  ASSERT_OK(Write("a", "A"));
  ASSERT_OK(Write("b", "B"));
  ASSERT_OK(files_->Rename(Path("a"), Path("b")));
  ASSERT_OK_AND_ASSIGN(const std::string contents, Read("b"));
  EXPECT_EQ(contents, "A");
  ASSERT_OK(files_->CreateDirectory(Path("full")));
  ASSERT_OK(Write("full/x", ""));
  ASSERT_OK(files_->CreateDirectory(Path("other")));
  EXPECT_FALSE(files_->Rename(Path("other"), Path("full")).ok());
  EXPECT_OK(files_->Rename(Path("full"), Path("other")));
  EXPECT_OK(Read("other/x"));
}

TEST_P(FileSystemTest, OnlyEmptyDirectoriesAreRemoved) {
  ASSERT_OK(files_->CreateDirectory(Path("d")));
  ASSERT_OK(Write("d/a", ""));
  EXPECT_THAT(files_->RemoveEmptyDirectory(Path("d")), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  ASSERT_OK(files_->RemoveFile(Path("d/a")));
  ASSERT_OK(files_->RemoveEmptyDirectory(Path("d")));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files_->ListDirectory(directory_));
  EXPECT_THAT(names, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, FileSystemTest, testing::Values("Posix", "Fake"),
                         [](const auto& info) { return std::string(info.param); });

TEST(PosixFileSystemTest, AFullDiskIsResourceExhausted) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> file,
                       FileSystem::Posix()->CreateFile("/dev/full"));
  EXPECT_THAT(file->Append("x"), StatusIs(absl::StatusCode::kResourceExhausted,
                                          HasSubstr("cannot write /dev/full: No space left on device")));
  EXPECT_THAT(file->Append(std::string(2 << 20, 'x')), StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(PosixFileSystemTest, APipeIsRefusedWithoutWaitingForAWriter) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(FileSystem::Posix()->OpenFile(path),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace lockstep

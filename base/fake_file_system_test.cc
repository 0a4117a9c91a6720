// The faults of the fake; that it otherwise is a file system is tested in file_system_test.cc.
#include "base/fake_file_system.h"

#include <memory>
#include <string>
#include <vector>

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
using Unsynced = FakeFileSystem::Unsynced;

std::string Contents(FakeFileSystem* files, const std::string& path) {
  return ReadWholeFile(files, path, 100).value_or("(none)");
}

TEST(FakeFileSystemTest, ALossOfPowerDropsUnsyncedBytes) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> file, files.CreateFile("/a"));
  ASSERT_OK(files.SyncDirectory("/"));
  ASSERT_OK(file->Append("synced"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Append(" and more"));
  EXPECT_EQ(Contents(&files, "/a"), "synced and more");
  files.Restart(Unsynced::kLost);
  EXPECT_EQ(Contents(&files, "/a"), "synced");
}

TEST(FakeFileSystemTest, ALossOfPowerDropsUnsyncedNames) {
  FakeFileSystem files;
  ASSERT_OK(WriteWholeFile(&files, "/a", "A"));
  ASSERT_OK(files.SyncDirectory("/"));
  ASSERT_OK(files.Rename("/a", "/b"));
  ASSERT_OK(WriteWholeFile(&files, "/c", "C"));
  files.Restart(Unsynced::kLost);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files.ListDirectory("/"));
  EXPECT_THAT(names, ElementsAre("a"));
}

TEST(FakeFileSystemTest, NamesMaySurviveWithoutTheirBytes) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> file, files.CreateFile("/a"));
  ASSERT_OK(file->Append("bytes"));
  files.Restart(Unsynced::kNamesKept);
  EXPECT_EQ(Contents(&files, "/a"), "");
}

TEST(FakeFileSystemTest, AKilledProcessLeavesWhatItWrote) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> file, files.CreateFile("/a"));
  ASSERT_OK(file->Append("bytes"));
  files.Restart(Unsynced::kKept);
  EXPECT_EQ(Contents(&files, "/a"), "bytes");
  EXPECT_THAT(file->Append("x"), StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST(FakeFileSystemTest, OneOperationFailsAndTheNextDoesNot) {
  FakeFileSystem files;
  files.FailAt(1, absl::PermissionDeniedError("Permission denied"));
  EXPECT_OK(files.CreateDirectory("/a"));
  EXPECT_THAT(files.CreateDirectory("/b"), StatusIs(absl::StatusCode::kPermissionDenied,
                                                    "cannot create the directory /b: Permission denied"));
  EXPECT_OK(files.CreateDirectory("/b"));
  EXPECT_EQ(files.operations(), 3);
}

TEST(FakeFileSystemTest, AFailedAppendIsTorn) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> file, files.CreateFile("/a"));
  files.FailAt(0, absl::UnknownError("torn"));
  EXPECT_THAT(file->Append("12345678"), StatusIs(absl::StatusCode::kUnknown, HasSubstr("torn")));
  EXPECT_EQ(Contents(&files, "/a"), "1234");
}

TEST(FakeFileSystemTest, AfterACrashEverythingFailsUntilRestart) {
  FakeFileSystem files;
  files.CrashAt(1);
  EXPECT_OK(files.CreateDirectory("/a"));
  EXPECT_THAT(files.CreateDirectory("/b"), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_THAT(files.ListDirectory("/"), StatusIs(absl::StatusCode::kUnavailable, _));
  files.Restart(Unsynced::kLost);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files.ListDirectory("/"));
  EXPECT_THAT(names, IsEmpty());
}

TEST(FakeFileSystemTest, ADiskThatIsFullTakesNoMore) {
  FakeFileSystem files;
  files.SetCapacity(4);
  EXPECT_OK(WriteWholeFile(&files, "/a", "1234"));
  EXPECT_THAT(WriteWholeFile(&files, "/b", "12"), StatusIs(absl::StatusCode::kResourceExhausted, _));
  ASSERT_OK(RemoveRecursively(&files, "/a"));
  EXPECT_OK(WriteWholeFile(&files, "/b", "12"));
}

}  // namespace
}  // namespace lockstep

#include "base/file_utilities.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/fake_file_system.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FileUtilitiesTest, ParentsOfPaths) {
  EXPECT_EQ(ParentDirectory("/a/b/c"), "/a/b");
  EXPECT_EQ(ParentDirectory("/a/b/"), "/a");
  EXPECT_EQ(ParentDirectory("/a"), "/");
  EXPECT_EQ(ParentDirectory("/"), "/");
  EXPECT_EQ(ParentDirectory("a/b"), "a");
  EXPECT_EQ(ParentDirectory("a"), ".");
}

TEST(FileUtilitiesTest, CreatedDirectoriesSurviveALossOfPower) {
  FakeFileSystem files;
  ASSERT_OK(CreateDirectories(&files, "/a/b/c"));
  files.Restart(FakeFileSystem::Unsynced::kLost);
  EXPECT_OK(files.ListDirectory("/a/b/c"));
  EXPECT_OK(CreateDirectories(&files, "/a/b/c"));
}

TEST(FileUtilitiesTest, AFileInTheWayOfADirectoryIsAnError) {
  FakeFileSystem files;
  ASSERT_OK(WriteWholeFile(&files, "/a", "x"));
  EXPECT_THAT(CreateDirectories(&files, "/a"), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_FALSE(CreateDirectories(&files, "/a/b").ok());
}

TEST(FileUtilitiesTest, RemoveRecursivelyLeavesNothing) {
  FakeFileSystem files;
  ASSERT_OK(CreateDirectories(&files, "/keep"));
  ASSERT_OK(CreateDirectories(&files, "/a/b"));
  ASSERT_OK(WriteWholeFile(&files, "/a/b/x", "x"));
  ASSERT_OK(WriteWholeFile(&files, "/a/y", "y"));
  ASSERT_OK(RemoveRecursively(&files, "/a"));
  ASSERT_OK(RemoveRecursively(&files, "/a"));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files.ListDirectory("/"));
  EXPECT_THAT(names, ElementsAre("keep"));
}

TEST(FileUtilitiesTest, RemoveRecursivelyDoesNotFollowLinks) {
  FileSystem* const files = FileSystem::Posix();
  const std::string base = std::string(std::getenv("TEST_TMPDIR")) + "/links";
  ASSERT_OK(CreateDirectories(files, base + "/precious"));
  ASSERT_OK(WriteWholeFile(files, base + "/precious/x", "x"));
  ASSERT_OK(CreateDirectories(files, base + "/removed"));
  ASSERT_EQ(symlink((base + "/precious").c_str(), (base + "/removed/link").c_str()), 0);
  ASSERT_OK(RemoveRecursively(files, base + "/removed"));
  EXPECT_OK(ReadWholeFile(files, base + "/precious/x", 1));
}

TEST(FileUtilitiesTest, FilesAboveTheLimitAreNotRead) {
  FakeFileSystem files;
  ASSERT_OK(WriteWholeFile(&files, "/a", "123"));
  EXPECT_OK(ReadWholeFile(&files, "/a", 3));
  EXPECT_THAT(ReadWholeFile(&files, "/a", 2),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("/a has 3 bytes, more than the limit of 2")));
}

// Whatever happens at whichever operation, the file holds the old or the new contents.
TEST(FileUtilitiesTest, ReplaceFileIsAllOrNothing) {
  using Unsynced = FakeFileSystem::Unsynced;
  for (const Unsynced unsynced : {Unsynced::kKept, Unsynced::kLost, Unsynced::kNamesKept}) {
    bool completed = false;
    for (int64_t at = 0; !completed; ++at) {
      FakeFileSystem files;
      ASSERT_OK(ReplaceFile(&files, "/f", "old"));
      files.CrashAt(at);
      completed = ReplaceFile(&files, "/f", "new").ok();
      files.Restart(unsynced);
      ASSERT_OK_AND_ASSIGN(const std::string contents, ReadWholeFile(&files, "/f", 10));
      if (completed) {
        EXPECT_EQ(contents, "new");
      } else {
        EXPECT_TRUE(contents == "old" || contents == "new") << contents << " crash at " << at;
      }
    }
  }
}

TEST(FileUtilitiesTest, ReplaceFileCleansUpAfterAFullDisk) {
  FakeFileSystem files;
  ASSERT_OK(ReplaceFile(&files, "/f", "old"));
  files.SetCapacity(5);
  EXPECT_THAT(ReplaceFile(&files, "/f", "longer"), StatusIs(absl::StatusCode::kResourceExhausted, _));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, files.ListDirectory("/"));
  EXPECT_THAT(names, ElementsAre("f"));
}

}  // namespace
}  // namespace lockstep

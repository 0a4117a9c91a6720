#include "data/mapped_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MappedFileTest, HoldsTheContent) {
  const TestDirectory directory;
  directory.Write("a.txt", "content");
  ASSERT_OK_AND_ASSIGN(const auto bytes, MapFile(absl::StrCat(directory.path(), "/a.txt"), "a.txt"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()), "content");
  EXPECT_OK(bytes->CheckIntact());
}

TEST(MappedFileTest, AnEmptyFileHasNoBytes) {
  const TestDirectory directory;
  directory.Write("empty", "");
  ASSERT_OK_AND_ASSIGN(const auto bytes, MapFile(absl::StrCat(directory.path(), "/empty"), "empty"));
  EXPECT_EQ(bytes->size(), 0);
}

TEST(MappedFileTest, AFileThatIsReplacedStaysReadable) {
  const TestDirectory directory;
  directory.Write("a.txt", "content");
  ASSERT_OK_AND_ASSIGN(const auto bytes, MapFile(absl::StrCat(directory.path(), "/a.txt"), "a.txt"));
  ASSERT_EQ(unlink(absl::StrCat(directory.path(), "/a.txt").c_str()), 0);
  EXPECT_OK(bytes->CheckIntact());
  EXPECT_EQ(bytes->data()[0], std::byte{'c'});
}

TEST(MappedFileTest, AFileThatShrinksIsNoticed) {
  const TestDirectory directory;
  directory.Write("a.txt", "content");
  const std::string path = absl::StrCat(directory.path(), "/a.txt");
  ASSERT_OK_AND_ASSIGN(const auto bytes, MapFile(path, "a.txt"));
  ASSERT_EQ(truncate(path.c_str(), 3), 0);
  EXPECT_THAT(bytes->CheckIntact(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("file a.txt shrank from 7 to 3 bytes")));
}

TEST(MappedFileTest, AMissingFileIsNamed) {
  const TestDirectory directory;
  EXPECT_THAT(
      MapFile(absl::StrCat(directory.path(), "/none.npy"), "none.npy"),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("file none.npy"), HasSubstr(directory.path()), HasSubstr("No such file"))));
}

TEST(MappedFileTest, DirectoriesAndPipesAreRefusedWithoutWaiting) {
  const TestDirectory directory;
  const std::string pipe = absl::StrCat(directory.path(), "/pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {directory.path(), pipe}) {
    EXPECT_THAT(MapFile(path, "d"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
  }
}

}  // namespace
}  // namespace lockstep

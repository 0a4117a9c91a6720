#include "base/path.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    top_ = fs::canonical(::testing::TempDir()) / name;
    fs::create_directories(top_ / "root" / "sub");
    std::ofstream(top_ / "root" / "sub" / "inside.npy") << "x";
    std::ofstream(top_ / "outside.npy") << "x";
    root_ = (top_ / "root").string();
  }

  fs::path top_;
  std::string root_;
};

TEST_F(PathTest, RelativeAndAbsolutePathsBelowTheRootAreResolved) {
  const std::string inside = absl::StrCat(root_, "/sub/inside.npy");
  for (const std::string& path :
       {std::string("sub/inside.npy"), std::string("./sub/../sub/inside.npy"), inside}) {
    ASSERT_OK_AND_ASSIGN(const std::string resolved, ResolveBelow(root_, path, "npy.features"));
    EXPECT_EQ(resolved, inside);
  }
}

TEST_F(PathTest, AFileNeedNotExistYet) {
  ASSERT_OK_AND_ASSIGN(const std::string resolved,
                       ResolveBelow(root_, "new/../fresh/out.npy", "predict.output"));
  EXPECT_EQ(resolved, absl::StrCat(root_, "/fresh/out.npy"));
}

TEST_F(PathTest, LeavingTheRootNamesTheFieldAndBothPaths) {
  const std::string outside = (top_ / "outside.npy").string();
  for (const std::string& path :
       {std::string("../outside.npy"), std::string("sub/../../outside.npy"), outside}) {
    EXPECT_THAT(ResolveBelow(root_, path, "npy.features"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("npy.features"), HasSubstr(outside), HasSubstr(root_))));
  }
}

TEST_F(PathTest, ASymbolicLinkOutOfTheRootIsRefused) {
  fs::create_symlink(top_, top_ / "root" / "link");
  EXPECT_THAT(ResolveBelow(root_, "link/outside.npy", "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not below")));
}

TEST_F(PathTest, ASymbolicLinkInsideTheRootIsFollowed) {
  fs::create_symlink("sub", top_ / "root" / "link");
  ASSERT_OK_AND_ASSIGN(const std::string resolved, ResolveBelow(root_, "link/inside.npy", "f"));
  EXPECT_EQ(resolved, absl::StrCat(root_, "/sub/inside.npy"));
}

TEST_F(PathTest, ADanglingLinkIsRefused) {
  fs::create_symlink(top_ / "nothing", top_ / "root" / "link");
  EXPECT_THAT(ResolveBelow(root_, "link", "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("symbolic link to nothing")));
}

TEST_F(PathTest, ASiblingWithTheRootsNameAsPrefixIsOutside) {
  fs::create_directories(top_ / "root2");
  EXPECT_THAT(ResolveBelow(root_, "../root2/x", "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not below")));
}

TEST_F(PathTest, EmptyPathsAndMissingRootsAreErrors) {
  EXPECT_THAT(ResolveBelow(root_, "", "csv.paths"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("csv.paths")));
  EXPECT_THAT(ResolveBelow(absl::StrCat(root_, "/none"), "x", "f"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("root directory")));
}

}  // namespace
}  // namespace lockstep

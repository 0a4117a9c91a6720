#include "base/file_lock.h"

#include <memory>
#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(FileLockTest, IsHeldByOneAtATimeAndFreeAgainAfterwards) {
  const std::string path = ::testing::TempDir();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock, FileLock::Acquire(path));
  EXPECT_THAT(FileLock::Acquire(path), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path)));
  lock.reset();
  EXPECT_OK(FileLock::Acquire(path));
}

TEST(FileLockTest, AMissingDirectoryIsNotFound) {
  EXPECT_THAT(FileLock::Acquire("/nonexistent/lock"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent/lock")));
}

}  // namespace
}  // namespace lockstep

#include "base/status_matchers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusMatchersTest, OkIsOkForStatusAndStatusOr) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(1), IsOk());
  EXPECT_THAT(absl::AbortedError(""), Not(IsOk()));
  EXPECT_THAT(absl::StatusOr<int>(absl::AbortedError("")), Not(IsOk()));
}

TEST(StatusMatchersTest, CodeAndMessageMustBothMatch) {
  const absl::Status status = absl::NotFoundError("no such file");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("file")));
  EXPECT_THAT(status, Not(StatusIs(absl::StatusCode::kNotFound, HasSubstr("directory"))));
  EXPECT_THAT(status, Not(StatusIs(absl::StatusCode::kDataLoss, _)));
  EXPECT_THAT(absl::StatusOr<int>(status), StatusIs(absl::StatusCode::kNotFound, "no such file"));
}

}  // namespace
}  // namespace lockstep

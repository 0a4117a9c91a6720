#include "base/status_macros.h"

#include <memory>

#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

absl::Status Forward(const absl::Status& status, int* evaluations, bool* went_on) {
  const auto evaluate = [&] {
    ++*evaluations;
    return status;
  };
  RETURN_IF_ERROR(evaluate());
  *went_on = true;
  return absl::OkStatus();
}

absl::StatusOr<int> Sum(absl::StatusOr<std::unique_ptr<int>> first, absl::StatusOr<int> second) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> a, std::move(first));
  int b = 0;
  ASSIGN_OR_RETURN(b, second);
  return *a + b;
}

TEST(StatusMacrosTest, ReturnIfErrorGoesOnAfterOk) {
  int evaluations = 0;
  bool went_on = false;
  EXPECT_OK(Forward(absl::OkStatus(), &evaluations, &went_on));
  EXPECT_TRUE(went_on);
  EXPECT_EQ(evaluations, 1);
}

TEST(StatusMacrosTest, ReturnIfErrorReturnsTheVeryError) {
  int evaluations = 0;
  bool went_on = false;
  const absl::Status error = absl::DataLossError("torn");
  EXPECT_EQ(Forward(error, &evaluations, &went_on), error);
  EXPECT_FALSE(went_on);
  EXPECT_EQ(evaluations, 1);
}

TEST(StatusMacrosTest, AssignOrReturnAssignsOrReturns) {
  ASSERT_OK_AND_ASSIGN(const int sum, Sum(std::make_unique<int>(2), 3));
  EXPECT_EQ(sum, 5);
  EXPECT_THAT(Sum(absl::AbortedError("first"), 3), StatusIs(absl::StatusCode::kAborted, "first"));
  EXPECT_THAT(Sum(std::make_unique<int>(2), absl::NotFoundError("second")),
              StatusIs(absl::StatusCode::kNotFound, "second"));
}

}  // namespace
}  // namespace lockstep

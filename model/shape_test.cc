#include "model/shape.h"

#include <limits>

#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(ShapeTest, ElementsAreTheProductOfTheSizes) {
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({28, 28}), 784);
  EXPECT_EQ(NumElements({2, 3, 5}), 30);
}

TEST(ShapeTest, PrintsAsAList) {
  EXPECT_EQ(ShapeToString({}), "[]");
  EXPECT_EQ(ShapeToString({28, 28}), "[28, 28]");
}

TEST(ShapeTest, SizesBelowOneAreRefused) {
  EXPECT_THAT(CheckShape({3, 0}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[3, 0]")));
  EXPECT_THAT(CheckShape({-1}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1")));
}

TEST(ShapeTest, ProductsThatWouldOverflowAreRefused) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(CheckShape({huge, huge}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than")));
  ASSERT_OK_AND_ASSIGN(const int64_t elements, CheckShape({kMaxTensorElements, 1}));
  EXPECT_EQ(elements, kMaxTensorElements);
  EXPECT_THAT(CheckShape({kMaxTensorElements, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than")));
}

}  // namespace
}  // namespace lockstep

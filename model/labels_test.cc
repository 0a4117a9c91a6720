#include "model/labels.h"

#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

LabelRequirement Values(std::vector<int64_t> shape) { return {false, 0, std::move(shape)}; }
LabelRequirement Classes(int64_t num_classes) { return {true, num_classes, {}}; }

TEST(LabelsTest, A31OneValuePerRowMayHaveEitherShape) {
  for (const LabelRequirement& required : {Values({}), Values({1})}) {
    EXPECT_OK(CheckLabels(required, LabelEncoding::kValues, {}));
    EXPECT_OK(CheckLabels(required, LabelEncoding::kValues, {1}));
  }
  EXPECT_OK(CheckLabels(Classes(3), LabelEncoding::kClasses, {}));
  EXPECT_OK(CheckLabels(Classes(3), LabelEncoding::kClasses, {1}));
}

TEST(LabelsTest, A31ShapesThatWouldBroadcastAreRefusedWithBothShapes) {
  EXPECT_THAT(CheckLabels(Values({1}), LabelEncoding::kValues, {4}),
              StatusIs(kInvalid, AllOf(HasSubstr("[rows, 4]"), HasSubstr("shape [rows, 1]"))));
  EXPECT_THAT(CheckLabels(Values({4}), LabelEncoding::kValues, {}),
              StatusIs(kInvalid, AllOf(HasSubstr("shape [rows],"), HasSubstr("[rows, 4]"))));
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1}, {4, 1}, {1, 4}, {5}, {2, 2}}) {
    EXPECT_THAT(CheckLabels(Values({4}), LabelEncoding::kValues, shape),
                StatusIs(kInvalid, HasSubstr("shape")));
  }
  EXPECT_THAT(CheckLabels(Classes(3), LabelEncoding::kClasses, {3}),
              StatusIs(kInvalid, HasSubstr("[rows, 3]")));
}

TEST(LabelsTest, KindsAreNotConverted) {
  EXPECT_THAT(CheckLabels(Classes(3), LabelEncoding::kValues, {3}),
              StatusIs(kInvalid, HasSubstr("use categorical_crossentropy")));
  EXPECT_THAT(CheckLabels(Values({3}), LabelEncoding::kClasses, {}),
              StatusIs(kInvalid, HasSubstr("use sparse_categorical_crossentropy")));
}

TEST(LabelsTest, A30ClassNumbersOutsideTheRangeAreNamed) {
  EXPECT_OK(CheckClasses(Classes(3), {0, 1, 2}));
  EXPECT_OK(CheckClasses(Classes(3), {}));
  EXPECT_THAT(CheckClasses(Classes(3), {0, 1, 2, 3}),
              StatusIs(kInvalid, HasSubstr("label 3 of row 3 is outside [0,3)")));
  EXPECT_THAT(CheckClasses(Classes(3), {0, -1, 7}),
              StatusIs(kInvalid, HasSubstr("label -1 of row 1 is outside [0,3)")));
}

}  // namespace
}  // namespace lockstep

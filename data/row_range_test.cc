#include "data/row_range.h"

#include <cmath>
#include <memory>
#include <utility>

#include "base/status_matchers.h"
#include "data/array_dataset.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

std::shared_ptr<const Dataset> FiveRows() {
  return ArrayDataset::Create({10, 11, 12, 13, 14}, {1}, {0, 1, 2, 3, 4}).value();
}

TEST(RowRangeTest, ShowsPartOfADataset) {
  ASSERT_OK_AND_ASSIGN(const auto range, RowRange::Create(FiveRows(), 1, 3));
  EXPECT_EQ(range->info().rows, 2);
  EXPECT_THAT(ReadAll(*range).features, ElementsAre(11, 12));
  EXPECT_THAT(ReadAll(*range).classes, ElementsAre(1, 2));
  EXPECT_THAT(range->Locate(1), HasSubstr("row 2"));
}

TEST(RowRangeTest, RowsBehindTheRangeAreNotReadable) {
  ASSERT_OK_AND_ASSIGN(const auto range, RowRange::Create(FiveRows(), 1, 3));
  EXPECT_THAT(ReadRow(*range, 2), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("[0, 2)")));
  EXPECT_THAT(ReadRow(*range, -1), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("[0, 2)")));
}

TEST(RowRangeTest, RangesOutsideTheDatasetAreRefused) {
  for (const auto& [begin, end] : {std::pair(-1, 2), std::pair(2, 2), std::pair(3, 2), std::pair(0, 6)}) {
    EXPECT_THAT(RowRange::Create(FiveRows(), begin, end), StatusIs(kInvalid, HasSubstr("5 rows")));
  }
}

TEST(HoldOutLastTest, TheLastFractionIsForValidation) {
  ASSERT_OK_AND_ASSIGN(const TrainValidation split, HoldOutLast(FiveRows(), 0.4));
  EXPECT_THAT(ReadAll(*split.train).features, ElementsAre(10, 11, 12));
  EXPECT_THAT(ReadAll(*split.validation).features, ElementsAre(13, 14));
}

TEST(HoldOutLastTest, BothPartsNeedRows) {
  EXPECT_THAT(HoldOutLast(FiveRows(), 0.0), StatusIs(kInvalid, HasSubstr("outside (0, 1)")));
  EXPECT_THAT(HoldOutLast(FiveRows(), 1.0), StatusIs(kInvalid, HasSubstr("outside (0, 1)")));
  EXPECT_THAT(HoldOutLast(FiveRows(), std::nan("")), StatusIs(kInvalid, HasSubstr("outside (0, 1)")));
  EXPECT_THAT(HoldOutLast(FiveRows(), 0.9), StatusIs(kInvalid, HasSubstr("leaves 0 for training")));
}

}  // namespace
}  // namespace lockstep

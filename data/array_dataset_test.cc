#include "data/array_dataset.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/status_matchers.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

template <typename T>
TypedArray Array(std::string name, ElementType type, std::vector<int64_t> shape, std::vector<T> values) {
  TypedArray array;
  array.name = std::move(name);
  array.format.type = type;
  array.shape = std::move(shape);
  array.storage = HoldVector(std::move(values));
  return array;
}

// Three rows of one feature, with float64 labels.
absl::StatusOr<std::shared_ptr<const ArrayDataset>> WithLabels(LabelKind kind, std::vector<int64_t> shape,
                                                               std::vector<double> labels) {
  ArrayDataset::Source source;
  source.features = Array<float>("file x.npy", ElementType::kF4, {3}, {1, 2, 3});
  source.labels = Array<double>("file y.npy", ElementType::kF8, std::move(shape), std::move(labels));
  source.label_kind = kind;
  return ArrayDataset::CreateFromSource(std::move(source));
}

TEST(ArrayDatasetTest, RowsAreCopiedInTheOrderAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, ArrayDataset::Create({1, 2, 3, 4, 5, 6}, {2}, {7, 8, 9}));
  EXPECT_EQ(dataset->info().rows, 3);
  EXPECT_THAT(dataset->info().feature_shape, ElementsAre(2));
  EXPECT_THAT(dataset->info().label_shape, IsEmpty());
  std::vector<float> features(6);
  std::vector<int32_t> classes(3);
  ASSERT_OK(dataset->Read({2, 0, 2}, features.data(), {classes.data(), nullptr}));
  EXPECT_THAT(features, ElementsAre(5, 6, 1, 2, 5, 6));
  EXPECT_THAT(classes, ElementsAre(9, 7, 9));
}

TEST(ArrayDatasetTest, FloatLabelsMayHaveAShape) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, ArrayDataset::CreateWithValues({1, 2}, {1}, {3, 4, 5, 6}, {2}));
  EXPECT_EQ(dataset->info().label_kind, LabelKind::kFloat);
  EXPECT_THAT(dataset->info().label_shape, ElementsAre(2));
  EXPECT_THAT(ReadAll(*dataset).values, ElementsAre(3, 4, 5, 6));
}

TEST(ArrayDatasetTest, OneValuePerRowMayBeWrittenAsAColumn) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, WithLabels(LabelKind::kFloat, {3, 1}, {0.5, 1.5, 2.5}));
  EXPECT_THAT(dataset->info().feature_shape, ElementsAre(1));
  EXPECT_THAT(dataset->info().label_shape, IsEmpty());
  EXPECT_THAT(ReadAll(*dataset).values, ElementsAre(0.5, 1.5, 2.5));
}

TEST(ArrayDatasetTest, WholeFloatsAreClasses) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, WithLabels(LabelKind::kClass, {3}, {3.0, -1.0, 2147483647.0}));
  EXPECT_THAT(ReadAll(*dataset).classes, ElementsAre(3, -1, 2147483647));
}

TEST(ArrayDatasetTest, LabelsThatAreNoClassesAreErrorsOfTheirRow) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, WithLabels(LabelKind::kClass, {3}, {1, 3.5, 3e9}));
  EXPECT_OK(ReadRow(*dataset, 0));
  EXPECT_THAT(ReadRow(*dataset, 1), StatusIs(kInvalid, AllOf(HasSubstr("file y.npy row 1"), HasSubstr("3.5"),
                                                             HasSubstr("not a whole class number"))));
  EXPECT_THAT(ReadRow(*dataset, 2),
              StatusIs(kInvalid, AllOf(HasSubstr("file y.npy row 2"), HasSubstr("is 3000000000"),
                                       HasSubstr("out of range"))));
}

TEST(ArrayDatasetTest, LabelsThatAreNotFiniteAreErrors) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  ASSERT_OK_AND_ASSIGN(const auto classes, WithLabels(LabelKind::kClass, {3}, {nan, infinity, -infinity}));
  ASSERT_OK_AND_ASSIGN(const auto values, WithLabels(LabelKind::kFloat, {3}, {nan, infinity, 1e300}));
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_THAT(ReadRow(*classes, row), StatusIs(kInvalid, HasSubstr("not a whole class number")));
    EXPECT_THAT(ReadRow(*values, row), StatusIs(kInvalid, HasSubstr("not a finite float")));
  }
}

TEST(ArrayDatasetTest, FeaturesThatAreNotFiniteAreErrorsOfTheirRow) {
  const float infinity = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(const auto dataset,
                       ArrayDataset::Create({1, 2, 3, std::nanf(""), -infinity, 6}, {2}, {0, 0, 0}));
  EXPECT_OK(ReadRow(*dataset, 0));
  EXPECT_THAT(ReadRow(*dataset, 1), StatusIs(kInvalid, HasSubstr("features row 1 element 1 is nan")));
  EXPECT_THAT(ReadRow(*dataset, 2), StatusIs(kInvalid, HasSubstr("features row 2 element 0 is -inf")));
}

TEST(ArrayDatasetTest, FeaturesAreScaled) {
  ArrayDataset::Source source;
  source.features = Array<uint8_t>("x", ElementType::kU1, {1, 3}, {0, 51, 255});
  source.labels = Array<uint8_t>("y", ElementType::kU1, {1}, {200});
  source.scale = 1.0f / 255;
  ASSERT_OK_AND_ASSIGN(const auto dataset, ArrayDataset::CreateFromSource(std::move(source)));
  const AllRows all = ReadAll(*dataset);
  EXPECT_THAT(all.features, ElementsAre(0, 51.0f * (1.0f / 255), 1));
  EXPECT_THAT(all.classes, ElementsAre(200));
}

TEST(ArrayDatasetTest, RowsThatDoNotExistAreErrors) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, ArrayDataset::Create({1, 2}, {1}, {0, 1}));
  for (const int64_t row : {int64_t{-1}, int64_t{2}, INT64_MAX}) {
    EXPECT_THAT(ReadRow(*dataset, row), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("outside [0, 2)")));
  }
}

TEST(ArrayDatasetTest, LocateNamesBothFiles) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, WithLabels(LabelKind::kClass, {3}, {0, 1, 2}));
  EXPECT_EQ(dataset->Locate(2), "file x.npy and file y.npy row 2");
}

TEST(ArrayDatasetTest, ArraysThatDoNotFitTogetherAreRefused) {
  EXPECT_THAT(ArrayDataset::Create({1, 2, 3}, {2}, {0}),
              StatusIs(kInvalid, HasSubstr("3 features are not whole rows of shape [2]")));
  EXPECT_THAT(ArrayDataset::Create({1, 2, 3, 4}, {2}, {0, 1, 2}),
              StatusIs(kInvalid, AllOf(HasSubstr("features has 2 rows"), HasSubstr("classes has 3"))));
  EXPECT_THAT(ArrayDataset::Create({1}, {0}, {0}), StatusIs(kInvalid, HasSubstr("[0]")));
  EXPECT_THAT(ArrayDataset::Create({1}, {-1}, {0}), StatusIs(kInvalid, HasSubstr("[-1]")));
  EXPECT_THAT(ArrayDataset::Create({}, {2}, {}), StatusIs(kInvalid, HasSubstr("hold no data")));
  EXPECT_THAT(WithLabels(LabelKind::kClass, {3, 2}, {1, 0, 1, 0, 1, 0}),
              StatusIs(kInvalid, AllOf(HasSubstr("[3, 2]"), HasSubstr("one-hot"))));
  EXPECT_THAT(WithLabels(LabelKind::kFloat, {}, {1}), StatusIs(kInvalid, HasSubstr("single number")));
  EXPECT_THAT(WithLabels(LabelKind::kFloat, {3}, {1, 2}), StatusIs(kInvalid, HasSubstr("needs 24")));
}

}  // namespace
}  // namespace lockstep

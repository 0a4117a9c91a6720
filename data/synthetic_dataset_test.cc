#include "data/synthetic_dataset.h"

#include <algorithm>

#include "base/status_matchers.h"
#include "data/test_support.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

SyntheticDataset::Options Options() {
  SyntheticDataset::Options options;
  options.rows = 1000;
  options.feature_shape = {4, 5};
  options.classes = 3;
  return options;
}

TEST(SyntheticDatasetTest, FeaturesAndLabelsAreUniform) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, SyntheticDataset::Create(Options()));
  EXPECT_THAT(dataset->info().feature_shape, ElementsAre(4, 5));
  const AllRows all = ReadAll(*dataset);
  EXPECT_THAT(all.features, Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(1))));
  double sum = 0;
  for (const float feature : all.features) sum += feature;
  // Standard deviation of the mean of n uniform numbers: sqrt(1 / 12n) = 0.002; the bound is 5 of them.
  EXPECT_NEAR(sum / 20'000, 0.5, 0.0103);
  for (int32_t label = 0; label < 3; ++label) {
    // Binomial: mean 333.3, standard deviation 14.9; the bound is 5 of them.
    EXPECT_NEAR(std::count(all.classes.begin(), all.classes.end(), label), 333.3, 75) << "label " << label;
  }
}

TEST(SyntheticDatasetTest, ARowDoesNotDependOnWhatElseIsRead) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, SyntheticDataset::Create(Options()));
  const AllRows all = ReadAll(*dataset);
  std::vector<float> features(20);
  int32_t label = -1;
  ASSERT_OK(dataset->Read({700}, features.data(), {&label, nullptr}));
  EXPECT_TRUE(std::equal(features.begin(), features.end(), all.features.begin() + 700 * 20));
  EXPECT_EQ(label, all.classes[700]);
}

TEST(SyntheticDatasetTest, SeedsGiveDifferentRows) {
  SyntheticDataset::Options options = Options();
  ASSERT_OK_AND_ASSIGN(const auto first, SyntheticDataset::Create(options));
  ASSERT_OK_AND_ASSIGN(const auto same, SyntheticDataset::Create(options));
  options.seed = 1;
  ASSERT_OK_AND_ASSIGN(const auto other, SyntheticDataset::Create(options));
  EXPECT_EQ(ReadAll(*first).features, ReadAll(*same).features);
  EXPECT_NE(ReadAll(*first).features, ReadAll(*other).features);
  EXPECT_NE(ReadAll(*first).classes, ReadAll(*other).classes);
}

TEST(SyntheticDatasetTest, FloatLabelsAreTheClassNumbers) {
  SyntheticDataset::Options options = Options();
  ASSERT_OK_AND_ASSIGN(const auto classes, SyntheticDataset::Create(options));
  options.label_kind = LabelKind::kFloat;
  ASSERT_OK_AND_ASSIGN(const auto values, SyntheticDataset::Create(options));
  const std::vector<int32_t> expected = ReadAll(*classes).classes;
  EXPECT_EQ(ReadAll(*values).values, std::vector<float>(expected.begin(), expected.end()));
}

TEST(SyntheticDatasetTest, NumbersThatMakeNoSenseAreRefused) {
  SyntheticDataset::Options options = Options();
  options.rows = 0;
  EXPECT_THAT(SyntheticDataset::Create(options), StatusIs(kInvalid, HasSubstr("synthetic.rows 0")));
  options = Options();
  options.classes = 1;
  EXPECT_THAT(SyntheticDataset::Create(options), StatusIs(kInvalid, HasSubstr("synthetic.classes 1")));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {0}, {-1}, {int64_t{1} << 40, int64_t{1} << 40}}) {
    options = Options();
    options.feature_shape = shape;
    EXPECT_THAT(SyntheticDataset::Create(options), StatusIs(kInvalid, HasSubstr("synthetic.feature_shape")));
  }
}

}  // namespace
}  // namespace lockstep

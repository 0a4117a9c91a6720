#include "model/metric.h"

#include <limits>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/reference/text_proto.h"
#include "model/shape.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kSparse[] = "loss { sparse_categorical_crossentropy { from_logits: true } } ";
constexpr char kCategorical[] = "loss { categorical_crossentropy {} } ";
constexpr char kBinary[] = "loss { binary_crossentropy {} } ";
constexpr char kSquared[] = "loss { mean_squared_error {} } ";

std::unique_ptr<Metric> MakeMetric(const std::string& compile, const Shape& output_shape) {
  auto metrics = CreateMetrics(ParseText<v1::Compile>(compile), output_shape);
  EXPECT_OK(metrics);
  EXPECT_EQ(metrics->size(), 1u);
  return std::move(metrics->front());
}

absl::Status CreateError(const std::string& compile, const Shape& output_shape) {
  return CreateMetrics(ParseText<v1::Compile>(compile), output_shape).status();
}

double Value(const Metric& metric, const std::vector<float>& outputs, const Labels& labels, int64_t rows) {
  double numerator = 0, denominator = 0;
  metric.Accumulate(outputs.data(), labels, rows, &numerator, &denominator);
  return numerator / denominator;
}

TEST(MetricTest, NamesAreThoseOfTheJobInItsOrder) {
  const auto metrics = CreateMetrics(
      ParseText<v1::Compile>(std::string(kSquared) + "metrics: 'mae' metrics: 'mean_squared_error'"), {1});
  ASSERT_OK(metrics);
  ASSERT_EQ(metrics->size(), 2u);
  EXPECT_EQ((*metrics)[0]->name(), "mae");
  EXPECT_EQ((*metrics)[1]->name(), "mean_squared_error");
}

TEST(MetricTest, SparseAccuracyTakesTheFirstOfTheLargest) {
  const auto metric = MakeMetric(std::string(kSparse) + "metrics: 'accuracy'", {3});
  EXPECT_EQ(metric->name(), "accuracy");
  const std::vector<float> outputs = {1, 3, 2, 5, 5, 0, -1, -2, -3};
  const std::vector<int32_t> right = {1, 0, 0};
  EXPECT_EQ(Value(*metric, outputs, {right.data(), nullptr}, 3), 1);
  const std::vector<int32_t> tie = {1, 1, 0};
  EXPECT_DOUBLE_EQ(Value(*metric, outputs, {tie.data(), nullptr}, 3), 2.0 / 3);
}

TEST(MetricTest, CategoricalAccuracyComparesTheLargest) {
  for (const char* name : {"accuracy", "categorical_accuracy"}) {
    const auto metric = MakeMetric(std::string(kCategorical) + "metrics: '" + name + "'", {2});
    const std::vector<float> outputs = {0.9f, 0.1f, 0.4f, 0.6f};
    const std::vector<float> labels = {0.7f, 0.3f, 1, 0};
    EXPECT_EQ(Value(*metric, outputs, {nullptr, labels.data()}, 2), 0.5) << name;
  }
}

TEST(MetricTest, A31BinaryAccuracyComparesRowByRow) {
  const std::vector<float> outputs = {0.9f, 0.2f};
  const std::vector<float> labels = {1, 0};
  for (const Shape& shape : {Shape{}, Shape{1}}) {
    const auto metric = MakeMetric(std::string(kBinary) + "metrics: 'accuracy'", shape);
    EXPECT_EQ(Value(*metric, outputs, {nullptr, labels.data()}, 2), 1);
  }
}

TEST(MetricTest, BinaryAccuracyIsTheMeanOverTheOutputsOfARow) {
  const auto metric = MakeMetric(std::string(kBinary) + "metrics: 'accuracy'", {4});
  const std::vector<float> outputs = {0.9f, 0.5f, 0.6f, 0.1f};
  const std::vector<float> labels = {1, 0, 0, 0};
  EXPECT_EQ(Value(*metric, outputs, {nullptr, labels.data()}, 1), 0.75);
}

TEST(MetricTest, AccuracyOfARegressionIsBinaryForOneOutputElseCategorical) {
  const std::vector<float> outputs = {0.2f, 0.4f};
  const std::vector<float> labels = {0, 1};
  EXPECT_EQ(Value(*MakeMetric(std::string(kSquared) + "metrics: 'accuracy'", {1}), outputs,
                  {nullptr, labels.data()}, 2),
            0.5);
  EXPECT_EQ(Value(*MakeMetric(std::string(kSquared) + "metrics: 'accuracy'", {2}), outputs,
                  {nullptr, labels.data()}, 1),
            1);
}

TEST(MetricTest, TopKCountsTiesInFavour) {
  const std::string metrics = "metrics: 'sparse_top_k_categorical_accuracy' ";
  const std::vector<float> outputs = {5, 4, 4, 1};
  const auto hit = [&](int k, int32_t label) {
    const auto metric = MakeMetric(kSparse + metrics + "top_k: " + std::to_string(k), {4});
    return Value(*metric, outputs, {&label, nullptr}, 1) == 1;
  };
  EXPECT_TRUE(hit(1, 0));
  EXPECT_FALSE(hit(1, 1));
  EXPECT_TRUE(hit(2, 1));
  EXPECT_TRUE(hit(2, 2));
  EXPECT_FALSE(hit(3, 3));
  EXPECT_TRUE(hit(4, 3));
  const std::vector<float> labels = {0, 0, 0, 1};
  EXPECT_EQ(Value(*MakeMetric(std::string(kCategorical) + "metrics: 'top_k_categorical_accuracy'", {4}),
                  outputs, {nullptr, labels.data()}, 1),
            1)
      << "k is 5 when absent";
}

TEST(MetricTest, ErrorsAreMeansOverRows) {
  const std::vector<float> outputs = {1, 2, 3, 4};
  const std::vector<float> labels = {0, 0, 0, 0};
  EXPECT_EQ(
      Value(*MakeMetric(std::string(kSquared) + "metrics: 'mse'", {2}), outputs, {nullptr, labels.data()}, 2),
      7.5);
  EXPECT_EQ(
      Value(*MakeMetric(std::string(kSquared) + "metrics: 'mae'", {2}), outputs, {nullptr, labels.data()}, 2),
      2.5);
}

TEST(MetricTest, SumsOfRanksGiveTheSameAsOneRank) {
  const auto metric = MakeMetric(std::string(kSparse) + "metrics: 'accuracy'", {2});
  const std::vector<float> outputs = {1, 0, 1, 0, 1, 0};
  const std::vector<int32_t> classes = {0, 0, 1};
  double numerator = 0, denominator = 0;
  metric->Accumulate(outputs.data(), {classes.data(), nullptr}, 2, &numerator, &denominator);
  metric->Accumulate(outputs.data() + 4, {classes.data() + 2, nullptr}, 1, &numerator, &denominator);
  metric->Accumulate(nullptr, {}, 0, &numerator, &denominator);
  EXPECT_EQ(numerator, 2);
  EXPECT_EQ(denominator, 3);
}

TEST(MetricTest, RowsWithNanAreNeverRight) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> outputs = {1, nan, 0, 0, 0, nan};
  for (const char* name : {"accuracy", "sparse_top_k_categorical_accuracy"}) {
    const auto metric = MakeMetric(std::string(kSparse) + "metrics: '" + name + "'", {3});
    for (int32_t label = 0; label < 3; ++label) {
      const std::vector<int32_t> classes = {label, label};
      EXPECT_EQ(Value(*metric, outputs, {classes.data(), nullptr}, 2), 0) << name << " " << label;
    }
  }
}

TEST(MetricTest, BadSpecificationsAreRefused) {
  EXPECT_THAT(
      CreateError(std::string(kSparse) + "metrics: 'acuracy'", {3}),
      StatusIs(kInvalid, HasSubstr("unknown metric \"acuracy\": choose of accuracy, binary_accuracy,")));
  EXPECT_THAT(CreateError(std::string(kSparse) + "metrics: 'accuracy' metrics: 'accuracy'", {3}),
              StatusIs(kInvalid, HasSubstr("written twice")));
  EXPECT_THAT(CreateError(std::string(kSparse) + "metrics: 'mse'", {3}),
              StatusIs(kInvalid, HasSubstr("labels are class numbers")));
  EXPECT_THAT(CreateError(std::string(kCategorical) + "metrics: 'sparse_categorical_accuracy'", {3}),
              StatusIs(kInvalid, HasSubstr("labels are label values")));
  EXPECT_THAT(CreateError(std::string(kBinary) + "metrics: 'categorical_accuracy'", {1}),
              StatusIs(kInvalid, HasSubstr("use binary_accuracy")));
  EXPECT_THAT(CreateError(std::string(kSparse) + "metrics: 'accuracy' top_k: 0", {3}),
              StatusIs(kInvalid, HasSubstr("top_k is 0")));
}

}  // namespace
}  // namespace lockstep

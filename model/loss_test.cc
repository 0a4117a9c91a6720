#include "model/loss.h"

#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/shape_text.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/reference/loss.h"
#include "model/reference/text_proto.h"
#include "model/shape.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::unique_ptr<Loss> MakeLoss(const std::string& text, const Shape& output_shape) {
  auto loss = Loss::Create(ParseText<v1::Loss>(text), output_shape);
  EXPECT_OK(loss);
  return std::move(loss).value();
}

absl::Status CreateError(const std::string& text, const Shape& output_shape) {
  return Loss::Create(ParseText<v1::Loss>(text), output_shape).status();
}

// The mean loss of rows whose labels are class numbers.
double MeanOfClasses(const std::string& text, const std::vector<float>& outputs,
                     const std::vector<int32_t>& classes) {
  const auto rows = static_cast<int64_t>(classes.size());
  const auto loss = MakeLoss(text, {static_cast<int64_t>(outputs.size()) / rows});
  return loss->SumAndGradient(outputs.data(), {classes.data(), nullptr}, rows, nullptr) /
         static_cast<double>(rows);
}

double MeanOfValues(const std::string& text, const Shape& shape, const std::vector<float>& outputs,
                    const std::vector<float>& values) {
  const auto rows = static_cast<int64_t>(outputs.size()) / NumElements(shape);
  return MakeLoss(text, shape)->SumAndGradient(outputs.data(), {nullptr, values.data()}, rows, nullptr) /
         static_cast<double>(rows);
}

// Absolute: values are given with 7 decimals.
constexpr double kSeventhDecimal = 1e-7;

TEST(LossTest, A19LossOfABatchIsTheMeanOverItsRowsNotOfMeans) {
  const auto loss = MakeLoss("mean_squared_error {}", {1});
  const std::vector<float> outputs = {0, 0, 0};
  const std::vector<float> labels = {2, 2, 9};
  // Shares of two ranks: rows 0 and 1, row 2.
  const double sum = loss->SumAndGradient(outputs.data(), {nullptr, labels.data()}, 2, nullptr) +
                     loss->SumAndGradient(outputs.data() + 2, {nullptr, labels.data() + 2}, 1, nullptr);
  EXPECT_NEAR(sum / 3, 29.6666667, kSeventhDecimal);
}

TEST(LossTest, A20SumAndGradientAreNotDividedByTheRows) {
  const auto loss = MakeLoss("mean_squared_error {}", {1});
  const std::vector<float> outputs = {-1, 2, -3, 4};
  const std::vector<float> labels = {0, 0, 0, 0};
  std::vector<float> gradient(4);
  EXPECT_EQ(loss->SumAndGradient(outputs.data(), {nullptr, labels.data()}, 4, gradient.data()), 30);
  EXPECT_THAT(gradient, ::testing::ElementsAre(-2, 4, -6, 8));
}

TEST(LossTest, A31BinaryCrossentropyComparesRowByRow) {
  const std::vector<float> outputs = {0.9f, 0.2f};
  const std::vector<float> labels = {1, 0};
  EXPECT_NEAR(MeanOfValues("binary_crossentropy {}", {1}, outputs, labels), 0.1642520, kSeventhDecimal);
  EXPECT_NEAR(MeanOfValues("binary_crossentropy {}", {}, outputs, labels), 0.1642520, kSeventhDecimal);
}

TEST(LossTest, A31SaturatedProbabilitiesAreClippedInFloat32) {
  // 2 certain answers are wrongly 1, 4 wrongly 0, 4 right.
  const std::vector<float> outputs = {1, 1, 0, 0, 0, 0, 1, 1, 0, 0};
  const std::vector<float> labels = {0, 0, 1, 1, 1, 1, 1, 1, 0, 0};
  EXPECT_NEAR(MeanOfValues("binary_crossentropy {}", {1}, outputs, labels), 9.6357, 5e-5);
}

TEST(LossTest, A32SoftmaxOnceAndTwice) {
  const float p = static_cast<float>(1 / (1 + std::exp(-1.0)));
  EXPECT_NEAR(MeanOfClasses("sparse_categorical_crossentropy { from_logits: true }", {1, 0}, {0}), 0.3132617,
              kSeventhDecimal);
  EXPECT_NEAR(MeanOfClasses("sparse_categorical_crossentropy {}", {p, 1 - p}, {0}), 0.3132617,
              kSeventhDecimal);
  EXPECT_NEAR(MeanOfClasses("sparse_categorical_crossentropy { from_logits: true }", {p, 1 - p}, {0}),
              0.4885484, kSeventhDecimal);
  EXPECT_NEAR(MeanOfClasses("sparse_categorical_crossentropy { from_logits: true }",
                            {1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0}),
              1.4611502, kSeventhDecimal);
}

TEST(LossTest, A32ProbabilitiesInFrontOfALossOfLogitsAreRefused) {
  for (const char* name :
       {"sparse_categorical_crossentropy", "categorical_crossentropy", "binary_crossentropy"}) {
    const auto from_logits = ParseText<v1::Loss>(std::string(name) + " { from_logits: true }");
    const auto from_probabilities = ParseText<v1::Loss>(std::string(name) + " {}");
    EXPECT_THAT(CheckActivationFitsLoss(v1::SOFTMAX, from_logits), StatusIs(kInvalid, HasSubstr("SOFTMAX")));
    EXPECT_THAT(CheckActivationFitsLoss(v1::SIGMOID, from_logits), StatusIs(kInvalid, HasSubstr("SIGMOID")));
    EXPECT_OK(CheckActivationFitsLoss(v1::LINEAR, from_logits));
    EXPECT_OK(CheckActivationFitsLoss(v1::ACTIVATION_UNSPECIFIED, from_logits));
    EXPECT_OK(CheckActivationFitsLoss(v1::SOFTMAX, from_probabilities));
    EXPECT_OK(CheckActivationFitsLoss(v1::SIGMOID, from_probabilities));
  }
  EXPECT_OK(CheckActivationFitsLoss(v1::SIGMOID, ParseText<v1::Loss>("mean_squared_error {}")));
}

TEST(LossTest, A33LargeLogitsNeitherOverflowNorVanish) {
  const auto softmax = [](const std::vector<float>& logits) {
    const auto loss = MakeLoss("sparse_categorical_crossentropy { from_logits: true }",
                               {static_cast<int64_t>(logits.size())});
    const int32_t label = 0;
    std::vector<float> gradient(logits.size());
    EXPECT_TRUE(std::isfinite(loss->SumAndGradient(logits.data(), {&label, nullptr}, 1, gradient.data())));
    gradient[0] += 1;  // d = softmax - label
    return gradient;
  };
  // The label's 1 is added back in float: half a unit of its last place.
  const auto near = [](float value) { return ::testing::FloatNear(value, 6e-8f); };
  EXPECT_THAT(softmax({7999.99f, 8000, 2, 1}),
              ::testing::ElementsAre(near(0.49755862f), near(0.50244138f), 0, 0));
  EXPECT_THAT(softmax({-2139.21f, -2407.21f, -2205.09f}),
              ::testing::ElementsAre(1, ::testing::Lt(1e-28f), ::testing::Lt(1e-28f)));
  EXPECT_THAT(softmax({1000, 1001, 1002}),
              ::testing::ElementsAre(near(0.09003057f), near(0.24472847f), near(0.66524096f)));
  EXPECT_NEAR(MeanOfClasses("sparse_categorical_crossentropy { from_logits: true }", {1000, 1001, 1002}, {1}),
              1.4076060, kSeventhDecimal);
}

TEST(LossTest, TheGradientOfANearlySureNetworkKeepsItsDigits) {
  const auto loss = MakeLoss("sparse_categorical_crossentropy { from_logits: true }", {2});
  const std::vector<float> logits = {16, 0};
  const int32_t label = 0;
  std::vector<float> gradient(2);
  loss->SumAndGradient(logits.data(), {&label, nullptr}, 1, gradient.data());
  EXPECT_FLOAT_EQ(gradient[0], static_cast<float>(-1 / (1 + std::exp(16.0))));
  EXPECT_FLOAT_EQ(gradient[1], -gradient[0]);
}

TEST(LossTest, LargeBinaryLogitsNeitherOverflowNorVanish) {
  const auto loss = MakeLoss("binary_crossentropy { from_logits: true }", {1});
  const std::vector<float> outputs = {1e30f, -1e30f, 1000, -1000};
  const std::vector<float> labels = {1, 0, 0, 1};
  std::vector<float> gradient(4);
  EXPECT_EQ(loss->SumAndGradient(outputs.data(), {nullptr, labels.data()}, 4, gradient.data()), 2000);
  EXPECT_THAT(gradient, ::testing::ElementsAre(0, 0, 1, -1));
}

TEST(LossTest, ProbabilitiesAreNormalised) {
  EXPECT_NEAR(MeanOfClasses("sparse_categorical_crossentropy {}", {2, 6}, {1}), -std::log(0.75), 1e-12);
  EXPECT_NEAR(MeanOfValues("categorical_crossentropy {}", {2}, {2, 6}, {0, 1}), -std::log(0.75), 1e-12);
}

TEST(LossTest, ClippedProbabilitiesHaveNoGradient) {
  const auto loss = MakeLoss("sparse_categorical_crossentropy {}", {2});
  const std::vector<float> outputs = {0, 1, 0, 1};
  const std::vector<int32_t> classes = {0, 1};
  std::vector<float> gradient(4, 5);
  loss->SumAndGradient(outputs.data(), {classes.data(), nullptr}, 2, gradient.data());
  EXPECT_THAT(gradient, Each(0));
}

TEST(LossTest, InfiniteOutputsShowInTheLoss) {
  for (const char* kind :
       {"sparse_categorical_crossentropy { from_logits: true }", "sparse_categorical_crossentropy {}"}) {
    EXPECT_FALSE(std::isfinite(MeanOfClasses(kind, {1, kInfinity, 1}, {0}))) << kind;
    EXPECT_FALSE(std::isfinite(MeanOfClasses(kind, {1, kInfinity, 1}, {1}))) << kind;
    EXPECT_FALSE(std::isfinite(MeanOfClasses(kind, {-kInfinity, -kInfinity, -kInfinity}, {1}))) << kind;
  }
  EXPECT_EQ(MeanOfValues("mean_squared_error {}", {1}, {-kInfinity}, {0}), kInfinity);
  EXPECT_EQ(MeanOfValues("huber {}", {1}, {-kInfinity}, {0}), kInfinity);
}

TEST(LossTest, AnImpossibleClassMayHaveAnInfinitelySmallLogit) {
  EXPECT_NEAR(MeanOfClasses("sparse_categorical_crossentropy { from_logits: true }", {1, -kInfinity, 1}, {0}),
              std::log(2), 1e-12);
}

TEST(LossTest, EachRowOfSeveralDistributionsOrElementsIsAMean) {
  // Two distributions of two classes: log 2 each, their mean is log 2.
  EXPECT_NEAR(
      MeanOfValues("categorical_crossentropy { from_logits: true }", {2, 2}, {3, 3, 5, 5}, {1, 0, 0, 1}),
      std::log(2), 1e-12);
  EXPECT_EQ(MeanOfValues("mean_squared_error {}", {2, 2}, {1, 2, 3, 4}, {0, 0, 0, 0}), 7.5);
  EXPECT_EQ(MeanOfValues("mean_absolute_error {}", {4}, {1, -2, 3, -4}, {0, 0, 0, 0}), 2.5);
  EXPECT_EQ(MeanOfValues("huber {}", {2}, {0.5f, -3}, {0, 0}), (0.125 + 2.5) / 2);
  EXPECT_EQ(MeanOfValues("huber { delta: 2 }", {2}, {0.5f, -3}, {0, 0}), (0.125 + 4) / 2);
}

TEST(LossTest, RequirementsFollowTheOutput) {
  const auto sparse = MakeLoss("sparse_categorical_crossentropy {}", {3});
  EXPECT_TRUE(sparse->labels().classes);
  EXPECT_EQ(sparse->labels().num_classes, 3);
  const auto dense = MakeLoss("categorical_crossentropy {}", {4, 3});
  EXPECT_FALSE(dense->labels().classes);
  EXPECT_THAT(dense->labels().shape, ::testing::ElementsAre(4, 3));
}

TEST(LossTest, BadSpecificationsAreRefused) {
  EXPECT_THAT(CreateError("", {3}), StatusIs(kInvalid, HasSubstr("compile.loss is empty")));
  EXPECT_THAT(CreateError("sparse_categorical_crossentropy {}", {1}),
              StatusIs(kInvalid, HasSubstr("use binary_crossentropy")));
  EXPECT_THAT(CreateError("sparse_categorical_crossentropy {}", {}),
              StatusIs(kInvalid, HasSubstr("at least 2 classes")));
  EXPECT_THAT(CreateError("sparse_categorical_crossentropy {}", {4, 3}),
              StatusIs(kInvalid, HasSubstr("[4, 3]")));
  EXPECT_THAT(CreateError("categorical_crossentropy {}", {3, 1}), StatusIs(kInvalid, HasSubstr("[3, 1]")));
  EXPECT_THAT(CreateError("mean_squared_error {}", {3, 0}), StatusIs(kInvalid, HasSubstr("[3, 0]")));
  for (const char* delta : {"0", "-1", "inf", "nan"}) {
    EXPECT_THAT(CreateError(std::string("huber { delta: ") + delta + " }", {1}),
                StatusIs(kInvalid, HasSubstr("huber.delta")));
  }
}

// All losses with a shape of one row; labels are made to fit.
struct LossCase {
  const char* text;
  Shape shape;
  bool probabilities;  // outputs in (0, 1)
};

const LossCase kCases[] = {
    {"sparse_categorical_crossentropy { from_logits: true }", {5}, false},
    {"sparse_categorical_crossentropy {}", {5}, true},
    {"categorical_crossentropy { from_logits: true }", {3}, false},
    {"categorical_crossentropy { from_logits: true }", {3, 7}, false},
    {"categorical_crossentropy {}", {7}, true},
    {"categorical_crossentropy {}", {2, 3}, true},
    {"binary_crossentropy { from_logits: true }", {1}, false},
    {"binary_crossentropy { from_logits: true }", {3, 5}, false},
    {"binary_crossentropy {}", {}, true},
    {"binary_crossentropy {}", {5}, true},
    {"mean_squared_error {}", {1}, false},
    {"mean_squared_error {}", {3, 3}, false},
    {"mean_absolute_error {}", {7}, false},
    {"huber {}", {7}, false},
    {"huber { delta: 0.3 }", {1, 5}, false},
};

std::ostream& operator<<(std::ostream& out, const LossCase& loss_case) {
  return out << loss_case.text << " " << ShapeToString(loss_case.shape);
}

class LossCaseTest : public ::testing::TestWithParam<LossCase> {
 protected:
  LossCaseTest()
      : spec_(ParseText<v1::Loss>(GetParam().text)),
        loss_(MakeLoss(GetParam().text, GetParam().shape)),
        row_size_(NumElements(GetParam().shape)) {
    for (uint64_t i = 0; i < static_cast<uint64_t>(kMaxRows * row_size_); ++i) {
      const RandomBlock random = Philox(7, RandomPurpose::kSynthetic, 0, i);
      const float unit = UnitFloat(random[0]);
      // Probabilities keep away from the limits, where the slope changes within a step of the differences.
      outputs_.push_back(GetParam().probabilities ? 0.05f + 0.9f * unit : 6 * unit - 3);
      values_.push_back(UnitFloat(random[1]));
      classes_.push_back(static_cast<int32_t>(random[2] % static_cast<uint32_t>(row_size_)));
    }
  }

  Labels labels() const {
    return loss_->labels().classes ? Labels{classes_.data(), nullptr} : Labels{nullptr, values_.data()};
  }

  static constexpr int64_t kMaxRows = 13;
  const v1::Loss spec_;
  const std::unique_ptr<Loss> loss_;
  const int64_t row_size_;
  std::vector<float> outputs_;
  std::vector<float> values_;
  std::vector<int32_t> classes_;
};

TEST_P(LossCaseTest, AgreesWithTheReferenceAndItsDifferences) {
  for (int64_t rows : {0, 1, 2, 13}) {
    const auto size = static_cast<size_t>(rows * row_size_);
    constexpr float kSentinel = 12345;
    std::vector<float> gradient(size + 1, kSentinel);
    const double sum = loss_->SumAndGradient(outputs_.data(), labels(), rows, gradient.data());
    const std::vector<double> outputs(outputs_.begin(), outputs_.begin() + static_cast<int64_t>(size));
    // Probabilities are rounded to float32 before the logarithm, once or (1 - p) twice.
    EXPECT_NEAR(sum, ReferenceLossSum(spec_, GetParam().shape, outputs, labels(), rows),
                1.2e-7 * static_cast<double>(rows * row_size_) + 1e-12);
    const std::vector<double> expected =
        ReferenceLossGradient(spec_, GetParam().shape, outputs, labels(), rows);
    // Differences are good to 1e-9, the gradient is rounded to float. That of probabilities is a difference
    // of terms up to 1 / 0.05 that are rounded before.
    const double terms = GetParam().probabilities ? 20 : 0;
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(gradient[i], expected[i], 1e-9 + 0x1p-23 * (std::abs(expected[i]) + terms))
          << "element " << i << " of " << rows << " rows";
    }
    EXPECT_EQ(gradient[size], kSentinel) << "wrote beyond " << rows << " rows";
  }
}

TEST_P(LossCaseTest, TheGradientIsOptional) {
  std::vector<float> gradient(outputs_.size());
  EXPECT_EQ(loss_->SumAndGradient(outputs_.data(), labels(), 5, nullptr),
            loss_->SumAndGradient(outputs_.data(), labels(), 5, gradient.data()));
}

TEST_P(LossCaseTest, RowsAddUp) {
  const Labels all = labels();
  const Labels rest = {all.classes == nullptr ? nullptr : all.classes + 4,
                       all.values == nullptr ? nullptr : all.values + 4 * row_size_};
  const double parts = loss_->SumAndGradient(outputs_.data(), all, 4, nullptr) +
                       loss_->SumAndGradient(outputs_.data() + 4 * row_size_, rest, 9, nullptr);
  EXPECT_NEAR(loss_->SumAndGradient(outputs_.data(), all, 13, nullptr), parts, 1e-12 * 13);
}

TEST_P(LossCaseTest, NanShowsInTheLoss) {
  for (int64_t i = 0; i < row_size_; ++i) {
    std::vector<float> outputs = outputs_;
    outputs[static_cast<size_t>(i)] = kNan;
    EXPECT_TRUE(std::isnan(loss_->SumAndGradient(outputs.data(), labels(), 1, nullptr))) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AllLosses, LossCaseTest, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace lockstep

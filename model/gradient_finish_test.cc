#include "model/gradient_finish.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/loss.h"
#include "model/optimizer.h"
#include "model/reference/text_proto.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<GradientFinisher> MakeFinisher(const std::string& optimizer,
                                               std::vector<ParameterRange> ranges, int64_t total,
                                               InstructionSet set = BestInstructionSet()) {
  auto finisher =
      GradientFinisher::Create(ParseText<v1::Optimizer>(optimizer), std::move(ranges), total, set);
  EXPECT_OK(finisher);
  return std::move(finisher).value();
}

std::vector<InstructionSet> AvailableSets() {
  if (BestInstructionSet() == InstructionSet::kAvx2) return {InstructionSet::kAvx2};
  return {InstructionSet::kAvx2, InstructionSet::kAvx512};
}

std::vector<float> RandomValues(uint64_t stream, size_t size) {
  std::vector<float> values;
  for (size_t i = 0; i < size; ++i) {
    values.push_back(2 * UnitFloat(Philox(5, RandomPurpose::kSynthetic, stream, i)[0]) - 1);
  }
  return values;
}

// One step of Dense(1, no bias) on rows (x, y) that are shared among ranks; returns the new weight.
float StepOfRanks(const std::vector<std::vector<std::pair<float, float>>>& shares, float weight,
                  const std::string& optimizer_text, GradientSummary* summary) {
  auto loss = Loss::Create(ParseText<v1::Loss>("mean_squared_error {}"), {1});
  auto optimizer = Optimizer::Create(ParseText<v1::Optimizer>(optimizer_text));
  float reduced = 0;
  int64_t rows = 0;
  for (const auto& share : shares) {
    for (const auto& [x, y] : share) {
      const float output = weight * x;
      float slope = 0;
      (*loss)->SumAndGradient(&output, {nullptr, &y}, 1, &slope);
      reduced += slope * x;
      ++rows;
    }
  }
  *summary =
      MakeFinisher(optimizer_text, {{0, 1, 0}}, 1)
          ->Finish(static_cast<double>(rows), absl::MakeConstSpan(&weight, 1), absl::MakeSpan(&reduced, 1));
  (*optimizer)
      ->Apply(1, (*optimizer)->LearningRateAt(0), absl::MakeConstSpan(&reduced, 1),
              absl::MakeSpan(&weight, 1), {});
  return weight;
}

TEST(GradientFinishTest, A19UnequalSharesAreDividedOnceByAllRows) {
  GradientSummary summary;
  const float weight =
      StepOfRanks({{{1, 2}, {2, 2}}, {{3, 9}}}, 0, "sgd { learning_rate { constant: 0.1 } }", &summary);
  EXPECT_EQ(summary.norm, 22);
  EXPECT_NEAR(weight, 2.2, 2e-7);
}

TEST(GradientFinishTest, A20AnyNumberOfRanksMakesTheSameStep) {
  const std::pair<float, float> a = {-1, 0}, b = {2, 0}, c = {-3, 0}, d = {4, 0};
  for (const auto& shares : {std::vector<std::vector<std::pair<float, float>>>{{a, b, c, d}},
                             {{a, b}, {c, d}},
                             {{a}, {b}, {c}, {d}}}) {
    GradientSummary summary;
    const float weight = StepOfRanks(shares, 1, "sgd { learning_rate { constant: 0.001 } }", &summary);
    EXPECT_EQ(summary.norm, 15);
    EXPECT_NEAR(weight, 0.985, 6e-8);
  }
}

TEST(GradientFinishTest, RegulariserCountsOnceAfterTheDivision) {
  const auto finisher = MakeFinisher("", {{0, 2, 0.5f}, {3, 1, 0}}, 4);
  const std::vector<float> parameters = {1, -2, 0, 5};
  std::vector<float> gradients = {8, 8, 7, 8};
  const GradientSummary summary = finisher->Finish(4, parameters, absl::MakeSpan(gradients));
  EXPECT_THAT(gradients, ElementsAre(3, 0, 7, 2)) << "padding is not touched";
  EXPECT_TRUE(summary.finite);
  EXPECT_DOUBLE_EQ(summary.norm, std::sqrt(13.0));
  EXPECT_DOUBLE_EQ(finisher->RegularizationLoss(parameters), 2.5);
}

TEST(GradientFinishTest, ClippingByTheNormOfEachVariable) {
  const auto finisher = MakeFinisher("clipnorm: 1", {{0, 2, 0}, {2, 1, 0}}, 3);
  std::vector<float> gradients = {3, 4, 0.5f};
  EXPECT_DOUBLE_EQ(finisher->Finish(1, gradients, absl::MakeSpan(gradients)).norm, std::sqrt(25.25));
  EXPECT_THAT(gradients, ElementsAre(0.6f, 0.8f, 0.5f));
}

TEST(GradientFinishTest, ClippingByTheGlobalNorm) {
  const auto finisher = MakeFinisher("global_clipnorm: 1", {{0, 1, 0}, {1, 1, 0}}, 2);
  std::vector<float> gradients = {6, 8};
  EXPECT_EQ(finisher->Finish(2, gradients, absl::MakeSpan(gradients)).norm, 5);
  EXPECT_THAT(gradients, ElementsAre(0.6f, 0.8f));
  EXPECT_EQ(finisher->Finish(1, gradients, absl::MakeSpan(gradients)).norm,
            std::sqrt(double{0.6f} * 0.6f + double{0.8f} * 0.8f));
}

TEST(GradientFinishTest, ClippingByValue) {
  const auto finisher = MakeFinisher("clipvalue: 0.5", {{0, 3, 0}}, 3);
  std::vector<float> gradients = {3, -4, 0.25f};
  finisher->Finish(1, gradients, absl::MakeSpan(gradients));
  EXPECT_THAT(gradients, ElementsAre(0.5f, -0.5f, 0.25f));
}

TEST(GradientFinishTest, NonFiniteValuesAreFoundAnywhereAndNotClippedAway) {
  const size_t size = 4133;
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    for (InstructionSet set : AvailableSets()) {
      const auto finisher = MakeFinisher("clipvalue: 1", {{0, static_cast<int64_t>(size), 0}}, size, set);
      for (size_t at : {size_t{0}, size_t{7}, size_t{15}, size_t{4095}, size_t{4096}, size - 1}) {
        std::vector<float> gradients(size, 2);
        gradients[at] = bad;
        EXPECT_FALSE(finisher->Finish(1, gradients, absl::MakeSpan(gradients)).finite) << bad << at;
        EXPECT_FALSE(std::isfinite(gradients[at]));
        EXPECT_EQ(gradients[1], 2) << "no clipping of a gradient that is not used";
      }
    }
  }
}

TEST(GradientFinishTest, TheLargestFloatsAreFinite) {
  const size_t size = 1000;
  std::vector<float> gradients(size, std::numeric_limits<float>::max());
  const auto finisher = MakeFinisher("global_clipnorm: 1", {{0, 1000, 0}}, size);
  EXPECT_TRUE(finisher->Finish(1, gradients, absl::MakeSpan(gradients)).finite);
  // The factor 1e-40 is a denormal float with 4 digits.
  EXPECT_NEAR(gradients[0], 1 / std::sqrt(1000.0), 1e-5);
}

TEST(GradientFinishTest, AWeightOfZeroIsNotFinite) {
  std::vector<float> gradients = {0, 0};
  EXPECT_FALSE(MakeFinisher("", {{0, 2, 0}}, 2)->Finish(0, gradients, absl::MakeSpan(gradients)).finite);
}

TEST(GradientFinishTest, InstructionSetsGiveTheSameBits) {
  for (const char* clipping : {"", "clipnorm: 0.7", "clipvalue: 0.01", "global_clipnorm: 0.3"}) {
    for (size_t size : {1u, 5u, 16u, 17u, 4095u, 4096u, 4097u, 9001u}) {
      const std::vector<ParameterRange> ranges = {{0, static_cast<int64_t>(size), 0.01f},
                                                  {static_cast<int64_t>(size) + 3, 33, 0}};
      const std::vector<float> parameters = RandomValues(1, size + 37);
      std::vector<float> expected = RandomValues(2, size + 37);
      const std::vector<float> input = expected;
      const auto finisher =
          MakeFinisher(clipping, ranges, static_cast<int64_t>(size) + 37, InstructionSet::kAvx2);
      const GradientSummary summary = finisher->Finish(13, parameters, absl::MakeSpan(expected));
      EXPECT_EQ(expected.back(), input.back()) << "padding";
      for (InstructionSet set : AvailableSets()) {
        const auto other = MakeFinisher(clipping, ranges, static_cast<int64_t>(size) + 37, set);
        std::vector<float> gradients = input;
        EXPECT_EQ(other->Finish(13, parameters, absl::MakeSpan(gradients)).norm, summary.norm);
        EXPECT_EQ(gradients, expected) << clipping << " " << size;
        EXPECT_EQ(other->RegularizationLoss(parameters), finisher->RegularizationLoss(parameters));
      }
    }
  }
}

TEST(GradientFinishTest, AgreesWithSumsInDouble) {
  const size_t size = 10007;
  const std::vector<float> parameters = RandomValues(1, size);
  std::vector<float> gradients = RandomValues(2, size);
  double squares = 0, parameter_squares = 0;
  std::vector<double> expected;
  for (size_t i = 0; i < size; ++i) {
    expected.push_back(gradients[i] / 7.0 + 2 * 0.25 * parameters[i]);
    squares += expected[i] * expected[i];
    parameter_squares += static_cast<double>(parameters[i]) * parameters[i];
  }
  const auto finisher = MakeFinisher("", {{0, size, 0.25f}}, size);
  const GradientSummary summary = finisher->Finish(7, parameters, absl::MakeSpan(gradients));
  // Two roundings to float per element.
  EXPECT_NEAR(summary.norm, std::sqrt(squares), 2e-7 * std::sqrt(squares));
  for (size_t i = 0; i < size; ++i) EXPECT_NEAR(gradients[i], expected[i], 1e-7) << i;
  EXPECT_NEAR(finisher->RegularizationLoss(parameters), 0.25 * parameter_squares, 1e-12 * parameter_squares);
}

TEST(GradientFinishTest, BadSpecificationsAreRefused) {
  const auto error = [](const std::string& optimizer, std::vector<ParameterRange> ranges) {
    return GradientFinisher::Create(ParseText<v1::Optimizer>(optimizer), std::move(ranges), 10).status();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(error("clipnorm: 1 clipvalue: 1", {}), StatusIs(kInvalid, HasSubstr("choose at most one")));
  EXPECT_THAT(error("clipnorm: 0", {}), StatusIs(kInvalid, HasSubstr("clipnorm is 0")));
  EXPECT_THAT(error("clipvalue: -1", {}), StatusIs(kInvalid, HasSubstr("clipvalue is -1")));
  EXPECT_THAT(error("global_clipnorm: nan", {}), StatusIs(kInvalid, HasSubstr("global_clipnorm")));
  EXPECT_THAT(error("", {{0, 11, 0}}), StatusIs(kInvalid, HasSubstr("size 11")));
  EXPECT_THAT(error("", {{0, 5, 0}, {4, 1, 0}}), StatusIs(kInvalid, HasSubstr("within [5, 10)")));
  EXPECT_THAT(error("", {{-1, 1, 0}}), StatusIs(kInvalid, HasSubstr("at -1")));
  EXPECT_THAT(error("", {{0, 5, -1}}), StatusIs(kInvalid, HasSubstr("l2 is -1")));
}

}  // namespace
}  // namespace lockstep

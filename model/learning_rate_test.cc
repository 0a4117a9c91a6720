#include "model/learning_rate.h"

#include <cmath>
#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/reference/text_proto.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::unique_ptr<LearningRate> MakeRate(const std::string& text) {
  const auto spec = ParseText<v1::LearningRate>(text);
  auto rate = LearningRate::Create(&spec, 0.125);
  EXPECT_OK(rate);
  return std::move(rate).value();
}

absl::Status CreateError(const std::string& text) {
  const auto spec = ParseText<v1::LearningRate>(text);
  return LearningRate::Create(&spec, 0.125).status();
}

TEST(LearningRateTest, AbsentOrEmptyIsTheDefault) {
  ASSERT_OK_AND_ASSIGN(const auto absent, LearningRate::Create(nullptr, 0.125));
  EXPECT_EQ(absent->At(0), 0.125);
  EXPECT_EQ(absent->At(1000000), 0.125);
  EXPECT_EQ(MakeRate("")->At(3), 0.125);
}

TEST(LearningRateTest, ConstantMayBeZero) {
  EXPECT_EQ(MakeRate("constant: 0.3")->At(7), 0.3);
  EXPECT_EQ(MakeRate("constant: 0")->At(7), 0);
}

TEST(LearningRateTest, ExponentialDecayIsSmoothOrAStaircase) {
  const std::string fields = "initial_learning_rate: 0.1 decay_steps: 100 decay_rate: 0.96";
  const auto smooth = MakeRate("exponential_decay { " + fields + " }");
  EXPECT_DOUBLE_EQ(smooth->At(0), 0.1);
  EXPECT_DOUBLE_EQ(smooth->At(50), 0.1 * std::sqrt(0.96));
  EXPECT_DOUBLE_EQ(smooth->At(200), 0.1 * 0.96 * 0.96);
  const auto staircase = MakeRate("exponential_decay { " + fields + " staircase: true }");
  EXPECT_DOUBLE_EQ(staircase->At(99), 0.1);
  EXPECT_DOUBLE_EQ(staircase->At(100), 0.1 * 0.96);
}

TEST(LearningRateTest, CosineDecayEndsAtAlphaOfItsTop) {
  const auto rate = MakeRate("cosine_decay { initial_learning_rate: 0.2 decay_steps: 1000 alpha: 0.1 }");
  EXPECT_DOUBLE_EQ(rate->At(0), 0.2);
  EXPECT_DOUBLE_EQ(rate->At(500), 0.2 * (0.9 * 0.5 + 0.1));
  EXPECT_DOUBLE_EQ(rate->At(250), 0.2 * (0.9 * 0.5 * (1 + std::sqrt(0.5)) + 0.1));
  EXPECT_NEAR(rate->At(1000), 0.02, 1e-17);
  EXPECT_EQ(rate->At(5000), rate->At(1000));
}

TEST(LearningRateTest, CosineDecayWarmsUpLinearlyToTheTarget) {
  const auto rate = MakeRate(
      "cosine_decay { initial_learning_rate: 0.1 decay_steps: 100 warmup_target: 0.5 warmup_steps: 40 }");
  EXPECT_DOUBLE_EQ(rate->At(0), 0.1);
  EXPECT_DOUBLE_EQ(rate->At(10), 0.2);
  EXPECT_DOUBLE_EQ(rate->At(40), 0.5);
  EXPECT_DOUBLE_EQ(rate->At(90), 0.25);
  EXPECT_NEAR(rate->At(140), 0, 1e-17);
  EXPECT_NEAR(rate->At(1000), 0, 1e-17);
}

TEST(LearningRateTest, PiecewiseConstantKeepsTheValueAtItsBoundary) {
  const auto rate = MakeRate("piecewise_constant { boundaries: [10, 20] values: [1, 0.5, 0.25] }");
  EXPECT_EQ(rate->At(0), 1);
  EXPECT_EQ(rate->At(10), 1);
  EXPECT_EQ(rate->At(11), 0.5);
  EXPECT_EQ(rate->At(20), 0.5);
  EXPECT_EQ(rate->At(21), 0.25);
  EXPECT_EQ(MakeRate("piecewise_constant { values: 2 }")->At(5), 2);
}

TEST(LearningRateTest, BadSpecificationsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"constant: -0.1", "learning_rate.constant is -0.1"},
      {"constant: nan", "learning_rate.constant"},
      {"constant: inf", "learning_rate.constant"},
      {"exponential_decay { initial_learning_rate: 1 decay_rate: 0.9 }", "decay_steps is 0"},
      {"exponential_decay { initial_learning_rate: 1 decay_steps: 1 decay_rate: -1 }", "decay_rate is -1"},
      {"cosine_decay { initial_learning_rate: 1 decay_steps: -5 }", "decay_steps is -5"},
      {"cosine_decay { initial_learning_rate: 1 decay_steps: 5 warmup_steps: 2 }", "needs a warmup_target"},
      {"cosine_decay { initial_learning_rate: 1 decay_steps: 5 warmup_target: 2 warmup_steps: -1 }",
       "warmup_steps is -1"},
      {"cosine_decay { initial_learning_rate: 1 decay_steps: 5 alpha: -1 }", "alpha is -1"},
      {"piecewise_constant { boundaries: 10 values: 1 }", "1 boundaries and 1 values"},
      {"piecewise_constant {}", "0 boundaries and 0 values"},
      {"piecewise_constant { boundaries: [10, 10] values: [1, 2, 3] }", "10 follows 10"},
      {"piecewise_constant { boundaries: -5 values: [1, 2] }", "the first is -5"},
      {"piecewise_constant { boundaries: 10 values: [1, -2] }", "values is -2"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(CreateError(text), StatusIs(kInvalid, HasSubstr(message))) << text;
  }
}

}  // namespace
}  // namespace lockstep

#include "model/initializer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "model/initializer_factory.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kInputs = 300;
constexpr int64_t kUnits = 200;
constexpr int64_t kElements = kInputs * kUnits;

v1::Initializer Parse(const std::string& text) {
  v1::Initializer spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

struct Moments {
  double mean = 0, stddev = 0, min = 0, max = 0;
};

Moments MomentsOf(const std::string& text) {
  absl::StatusOr<Initializer> initializer = MakeInitializer(Parse(text), {kInputs, kUnits});
  EXPECT_OK(initializer);
  std::vector<float> values(kElements);
  initializer->Fill(1, "dense/kernel", absl::MakeSpan(values));
  Moments moments;
  for (const float value : values) moments.mean += value / kElements;
  for (const float value : values) {
    moments.stddev += (value - moments.mean) * (value - moments.mean) / kElements;
  }
  moments.stddev = std::sqrt(moments.stddev);
  moments.min = *std::min_element(values.begin(), values.end());
  moments.max = *std::max_element(values.begin(), values.end());
  return moments;
}

// Keras's definitions: the variance is a scale over a fan.
TEST(InitializerTest, VariancesAreThoseOfKeras) {
  const double average = (kInputs + kUnits) / 2.0;
  const std::pair<const char*, double> cases[] = {
      {"", 1 / average},
      {"glorot_uniform {}", 1 / average},
      {"glorot_normal {}", 1 / average},
      {"he_uniform {}", 2.0 / kInputs},
      {"he_normal {}", 2.0 / kInputs},
      {"lecun_uniform {}", 1.0 / kInputs},
      {"lecun_normal {}", 1.0 / kInputs},
      {"random_normal {}", 0.05 * 0.05},
      {"random_normal { stddev: 2 }", 4},
      {"random_uniform {}", 0.1 * 0.1 / 12},
  };
  // The relative error of a standard deviation of n normal values is 1 / sqrt(2 n); five of them.
  const double tolerance = 5 / std::sqrt(2.0 * kElements);
  for (const auto& [text, variance] : cases) {
    const Moments moments = MomentsOf(text);
    EXPECT_NEAR(moments.stddev / std::sqrt(variance), 1, tolerance) << text;
    EXPECT_NEAR(moments.mean, 0, 5 * std::sqrt(variance / kElements)) << text;
  }
}

TEST(InitializerTest, UniformValuesFillTheirRange) {
  const double limit = std::sqrt(6.0 / (kInputs + kUnits));
  const Moments moments = MomentsOf("glorot_uniform {}");
  EXPECT_GE(moments.min, -limit - 1e-8);
  EXPECT_LE(moments.max, limit + 1e-8);
  EXPECT_LT(moments.min, -0.999 * limit);
  EXPECT_GT(moments.max, 0.999 * limit);
}

TEST(InitializerTest, TruncatedValuesStayWithinTwoStandardDeviations) {
  const double stddev = std::sqrt(2.0 / kInputs) / 0.87962566103423978;
  const Moments moments = MomentsOf("he_normal {}");
  EXPECT_LE(std::max(-moments.min, moments.max), 2 * stddev + 1e-8);
  EXPECT_GT(std::min(-moments.min, moments.max), 1.98 * stddev);
  EXPECT_GT(MomentsOf("random_normal {}").max, 0.05 * 3);
}

TEST(InitializerTest, ConstantsAreConstant) {
  EXPECT_EQ(MomentsOf("zeros {}").max, 0);
  EXPECT_EQ(MomentsOf("ones {}").min, 1);
  EXPECT_EQ(MomentsOf("constant: 0.25").min, 0.25);
  EXPECT_EQ(MomentsOf("constant: 0.25").max, 0.25);
}

TEST(InitializerTest, FansOfAKernelCountItsReceptiveField) {
  ASSERT_OK_AND_ASSIGN(const Initializer convolution, MakeInitializer(Parse("he_uniform {}"), {3, 3, 8, 16}));
  ASSERT_OK_AND_ASSIGN(const Initializer dense, MakeInitializer(Parse("he_uniform {}"), {72, 16}));
  std::vector<float> of_convolution(1152), of_dense(1152);
  convolution.Fill(1, "kernel", absl::MakeSpan(of_convolution));
  dense.Fill(1, "kernel", absl::MakeSpan(of_dense));
  EXPECT_EQ(of_convolution, of_dense);
}

TEST(InitializerTest, ValuesDependOnSeedAndName) {
  const Initializer initializer = Initializer::Uniform(0, 1);
  std::vector<float> values(7), again(7), other_seed(7), other_name(7), longer(20);
  initializer.Fill(1, "a", absl::MakeSpan(values));
  initializer.Fill(1, "a", absl::MakeSpan(again));
  initializer.Fill(2, "a", absl::MakeSpan(other_seed));
  initializer.Fill(1, "b", absl::MakeSpan(other_name));
  initializer.Fill(1, "a", absl::MakeSpan(longer));
  EXPECT_EQ(values, again);
  EXPECT_NE(values, other_seed);
  EXPECT_NE(values, other_name);
  longer.resize(7);
  EXPECT_EQ(values, longer);
}

TEST(InitializerTest, ValuesOutOfRangeAreRefused) {
  for (const char* text : {"constant: nan", "random_uniform { minval: 1 maxval: 0 }",
                           "random_uniform { minval: -inf }", "random_uniform { minval: -3e38 maxval: 3e38 }",
                           "random_normal { stddev: -1 }", "random_normal { mean: inf }"}) {
    EXPECT_THAT(MakeInitializer(Parse(text), {3, 3}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be")))
        << text;
  }
}

}  // namespace
}  // namespace lockstep

#include "model/kernels/dropout.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/guarded_array.h"
#include "model/kernels/kernel_cases.h"
#include "model/kernels/reference_kernels.h"

namespace lockstep {
namespace {

DropoutMask Mask(float rate) {
  DropoutMask mask;
  mask.rate = rate;
  mask.seed = 3;
  mask.step = 4;
  return mask;
}

TEST(DropoutTest, AgreesWithTheReference) {
  for (const MatrixSize size : MatrixCases()) {
    for (const float rate : {0.0f, 0.25f, 0.5f, 0.9f}) {
      const GuardedArray x(Numbers(size.rows * size.columns, 1, 1), 1);
      const GuardedArray y(size.rows * size.columns, 0);
      DropoutMask mask = Mask(rate);
      mask.first_row = 11;
      ApplyDropout(mask, size, x.data(), y.data());
      std::vector<double> expected(y.values().size());
      reference::ApplyDropout(mask, size, x.values().data(), expected.data());
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(expected[i], y.values()[i], std::abs(expected[i]) * 0x1p-22) << i;
      }
      EXPECT_TRUE(y.intact());
    }
  }
}

TEST(DropoutTest, DropsAboutTheRateAndKeepsTheMean) {
  constexpr int64_t kElements = 100000;
  const std::vector<float> ones(kElements, 1.0f);
  std::vector<float> y(kElements);
  ApplyDropout(Mask(0.25f), {100, kElements / 100}, ones.data(), y.data());
  int64_t dropped = 0;
  double sum = 0;
  for (const float value : y) {
    dropped += value == 0 ? 1 : 0;
    sum += value;
  }
  // Five standard deviations of a binomial count: 5 * sqrt(n p (1 - p)).
  EXPECT_NEAR(dropped, 25000, 685);
  EXPECT_NEAR(sum / kElements, 1, 0.01);
}

TEST(DropoutTest, RowsAreTheSameHoweverTheyAreDivided) {
  const std::vector<float> ones(10 * 7, 1.0f);
  std::vector<float> whole(70);
  ApplyDropout(Mask(0.5f), {10, 7}, ones.data(), whole.data());
  std::vector<float> parts(70);
  ApplyDropout(Mask(0.5f), {4, 7}, ones.data(), parts.data());
  DropoutMask rest = Mask(0.5f);
  rest.first_row = 4;
  ApplyDropout(rest, {6, 7}, ones.data(), parts.data() + 4 * 7);
  EXPECT_EQ(whole, parts);
}

TEST(DropoutTest, StepsAndSeedsDropOtherElements) {
  const std::vector<float> ones(100, 1.0f);
  std::vector<float> first(100), other_step(100), other_seed(100);
  DropoutMask mask = Mask(0.5f);
  ApplyDropout(mask, {1, 100}, ones.data(), first.data());
  ++mask.step;
  ApplyDropout(mask, {1, 100}, ones.data(), other_step.data());
  --mask.step;
  ++mask.seed;
  ApplyDropout(mask, {1, 100}, ones.data(), other_seed.data());
  EXPECT_NE(first, other_step);
  EXPECT_NE(first, other_seed);
}

}  // namespace
}  // namespace lockstep

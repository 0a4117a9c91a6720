#include "model/kernels/activation.h"

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu.h"
#include "gtest/gtest.h"
#include "model/kernels/activation_simd.h"
#include "model/kernels/guarded_array.h"
#include "model/kernels/kernel_cases.h"
#include "model/kernels/reference_kernels.h"

namespace lockstep {
namespace {

using F = ActivationFunction;

struct Kernels {
  const char* name;
  decltype(&ActivationForward) forward;
  decltype(&ActivationBackward) backward;
};

constexpr Kernels kAvx2 = {"Avx2", avx2::ActivationForward, avx2::ActivationBackward};
constexpr Kernels kAvx512 = {"Avx512", avx512::ActivationForward, avx512::ActivationBackward};

std::vector<Kernels> KernelsOfThisProcessor() {
  if (BestInstructionSet() == InstructionSet::kAvx512) return {kAvx2, kAvx512};
  return {kAvx2};
}

using Case = std::tuple<Kernels, ActivationFunction>;

class ActivationTest : public ::testing::TestWithParam<Case> {
 protected:
  const Kernels& kernels() const { return std::get<0>(GetParam()); }
  Activation activation() const { return {std::get<1>(GetParam()), 0.3f}; }
};

int64_t Elements(MatrixSize size) { return size.rows * size.columns; }

// xsimd's functions are good to about 2 units in the last place; a few operations follow.
constexpr double kRelative = 8 * 0x1p-24;
// Where 1 + f or 1 - f cancels, the error is one of numbers of about 1.
constexpr double kAbsolute = 4 * 0x1p-24;

void ExpectClose(const std::vector<double>& expected, const std::vector<double>& actual,
                 const std::string& where) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], actual[i], kAbsolute + kRelative * std::abs(expected[i]))
        << where << " element " << i;
  }
}

TEST_P(ActivationTest, ForwardAgreesWithTheReference) {
  for (const MatrixSize size : MatrixCases()) {
    for (const int64_t misalignment : MisalignmentCases()) {
      const GuardedArray x(Numbers(Elements(size), 6, 1), misalignment);
      const GuardedArray y(Elements(size), misalignment + 1);
      kernels().forward(activation(), size, x.data(), y.data());
      std::vector<double> expected(y.values().size());
      reference::ActivationForward(activation(), size, x.values().data(), expected.data());
      ExpectClose(expected, y.values(), absl::StrCat(size.rows, " x ", size.columns));
      EXPECT_TRUE(y.intact()) << size.rows << " x " << size.columns;
    }
  }
}

TEST_P(ActivationTest, BackwardAgreesWithTheReference) {
  for (const MatrixSize size : MatrixCases()) {
    for (const int64_t misalignment : MisalignmentCases()) {
      const GuardedArray x(Numbers(Elements(size), 6, 1), misalignment);
      const GuardedArray dy(Numbers(Elements(size), 1, 2), misalignment);
      const GuardedArray y(Elements(size), misalignment);
      const GuardedArray dx(Elements(size), misalignment + 1);
      kernels().forward(activation(), size, x.data(), y.data());
      kernels().backward(activation(), size, x.data(), y.data(), dy.data(), dx.data());
      std::vector<double> expected(y.values().size());
      reference::ActivationBackward(activation(), size, x.values().data(), nullptr, dy.values().data(),
                                    expected.data());
      ExpectClose(expected, dx.values(), absl::StrCat(size.rows, " x ", size.columns));
      EXPECT_TRUE(dx.intact()) << size.rows << " x " << size.columns;
    }
  }
}

double WeightedSum(const Activation& activation, MatrixSize size, const std::vector<double>& x,
                   const std::vector<double>& weights) {
  std::vector<double> y(x.size());
  reference::ActivationForward(activation, size, x.data(), y.data());
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
  return sum;
}

TEST_P(ActivationTest, BackwardIsTheCentralDifferenceOfForward) {
  const MatrixSize size = {3, 5};
  const GuardedArray x(Numbers(15, 2, 1), 0);
  const GuardedArray dy(Numbers(15, 1, 2), 0);
  const GuardedArray y(15, 0);
  const GuardedArray dx(15, 0);
  kernels().forward(activation(), size, x.data(), y.data());
  kernels().backward(activation(), size, x.data(), y.data(), dy.data(), dx.data());
  constexpr double kDelta = 1e-5;  // its square, times the third derivative, is below float's precision
  for (size_t i = 0; i < 15; ++i) {
    std::vector<double> above = x.values();
    std::vector<double> below = x.values();
    above[i] += kDelta;
    below[i] -= kDelta;
    const double difference = WeightedSum(activation(), size, above, dy.values()) -
                              WeightedSum(activation(), size, below, dy.values());
    EXPECT_NEAR(dx.values()[i], difference / (2 * kDelta), 1e-6) << i;
  }
}

TEST_P(ActivationTest, WorksInPlace) {
  const MatrixSize size = {3, 21};
  const GuardedArray x(Numbers(63, 3, 1), 0);
  const GuardedArray y(63, 0);
  kernels().forward(activation(), size, x.data(), y.data());
  const GuardedArray in_place(x.values(), 0);
  kernels().forward(activation(), size, in_place.data(), in_place.data());
  EXPECT_EQ(in_place.values(), y.values());

  const GuardedArray gradient(Numbers(63, 1, 2), 0);
  const GuardedArray dx(63, 0);
  kernels().backward(activation(), size, x.data(), y.data(), gradient.data(), dx.data());
  kernels().backward(activation(), size, x.data(), y.data(), gradient.data(), gradient.data());
  EXPECT_EQ(gradient.values(), dx.values());
}

TEST_P(ActivationTest, NanStaysNan) {
  for (const int64_t columns : {1, 7, 16, 19}) {
    std::vector<double> numbers = Numbers(columns, 2, 1);
    numbers.back() = std::numeric_limits<double>::quiet_NaN();
    const GuardedArray x(numbers, 0);
    const GuardedArray y(columns, 0);
    kernels().forward(activation(), {1, columns}, x.data(), y.data());
    EXPECT_TRUE(std::isnan(y.values().back())) << columns;
  }
}

TEST_P(ActivationTest, LargeValuesGiveTheLimit) {
  const GuardedArray x({-1e4, 1e4}, 0);
  const GuardedArray y(2, 0);
  kernels().forward(activation(), {1, 2}, x.data(), y.data());
  std::vector<double> expected(2);
  reference::ActivationForward(activation(), {1, 2}, x.values().data(), expected.data());
  ExpectClose(expected, y.values(), "limits");
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  static constexpr const char* kNames[] = {"Linear", "Relu",    "LeakyRelu", "Elu",
                                           "Gelu",   "Sigmoid", "Tanh",      "Softmax"};
  return absl::StrCat(std::get<0>(info.param).name, kNames[static_cast<int>(std::get<1>(info.param))]);
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest,
                         ::testing::Combine(::testing::ValuesIn(KernelsOfThisProcessor()),
                                            ::testing::Values(F::kLinear, F::kRelu, F::kLeakyRelu, F::kElu,
                                                              F::kGelu, F::kSigmoid, F::kTanh, F::kSoftmax)),
                         CaseName);

std::vector<float> SoftmaxOf(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  ActivationForward({F::kSoftmax}, {1, static_cast<int64_t>(x.size())}, x.data(), y.data());
  return y;
}

void ExpectSoftmax(const std::vector<float>& x, const std::vector<float>& expected) {
  const std::vector<float> y = SoftmaxOf(x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-7) << i;  // the digits of the table
}

TEST(SoftmaxTest, A33LargeLogitsDoNotOverflow) {
  ExpectSoftmax({7999.99f, 8000, 2, 1}, {0.49755862f, 0.50244138f, 0, 0});
  ExpectSoftmax({1000, 1001, 1002}, {0.09003057f, 0.24472847f, 0.66524096f});
}

TEST(SoftmaxTest, A33VeryNegativeLogitsAreNoZeroByZero) {
  ExpectSoftmax({-2139.21f, -2407.21f, -2205.09f}, {1, 0, 0});
}

TEST(SoftmaxTest, A33GradientsAreFinite) {
  for (const std::vector<float>& x :
       {std::vector<float>{7999.99f, 8000, 2, 1}, {-2139.21f, -2407.21f, -2205.09f}}) {
    const std::vector<float> y = SoftmaxOf(x);
    std::vector<float> dx(x.size());
    const std::vector<float> dy = {0, -1, 0, 0};
    ActivationBackward({F::kSoftmax}, {1, static_cast<int64_t>(x.size())}, nullptr, y.data(), dy.data(),
                       dx.data());
    for (const float value : dx) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(SoftmaxTest, MaskedLogitsGetNoProbability) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  ExpectSoftmax({kMasked, 3, kMasked}, {0, 1, 0});
}

}  // namespace
}  // namespace lockstep

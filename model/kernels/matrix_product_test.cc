#include "model/kernels/matrix_product.h"

#include <cmath>
#include <vector>

#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "model/kernels/guarded_array.h"
#include "model/kernels/kernel_cases.h"
#include "model/kernels/reference_kernels.h"

namespace lockstep {
namespace {

using Layout = MatrixProduct::Layout;
using Bias = MatrixProduct::Bias;

std::vector<MatrixProduct::Options> Cases() {
  std::vector<MatrixProduct::Options> cases;
  const int64_t sizes[][3] = {{1, 1, 1}, {1, 10, 7}, {33, 2, 32}, {32, 32, 20}, {17, 31, 5}, {64, 48, 129}};
  for (const auto& [m, n, k] : sizes) {
    cases.push_back({m, n, k, Layout::kPlain, Layout::kPlain, Bias::kAdded});
    cases.push_back({m, n, k, Layout::kPlain, Layout::kPlain, Bias::kNone});
    cases.push_back({m, n, k, Layout::kTransposed, Layout::kPlain, Bias::kNone});
    cases.push_back({m, n, k, Layout::kPlain, Layout::kTransposed, Bias::kNone});
  }
  return cases;
}

TEST(MatrixProductTest, AgreesWithTheReference) {
  for (const MatrixProduct::Options& options : Cases()) {
    for (const int64_t misalignment : MisalignmentCases()) {
      const GuardedArray a(Numbers(options.m * options.k, 1, 1), misalignment);
      const GuardedArray b(Numbers(options.k * options.n, 1, 2), misalignment);
      const GuardedArray bias(Numbers(options.n, 1, 3), misalignment);
      const GuardedArray c(options.m * options.n, misalignment);
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MatrixProduct> product, MatrixProduct::Create(options));
      ASSERT_OK(product->Run(a.data(), b.data(), bias.data(), c.data()));

      std::vector<double> expected(c.values().size());
      reference::Product(options, a.values().data(), b.values().data(), bias.values().data(),
                         expected.data());
      // Each of k additions of sums up to k rounds by half a unit in the last place.
      const double tolerance = static_cast<double>((options.k + 1) * (options.k + 1)) * 0x1p-25;
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(expected[i], c.values()[i], tolerance)
            << options.m << " x " << options.n << " x " << options.k << " element " << i;
      }
      EXPECT_TRUE(c.intact()) << options.m << " x " << options.n << " x " << options.k;
    }
  }
}

TEST(MatrixProductTest, NanStaysNan) {
  const std::vector<float> a = {NAN, 1};
  const std::vector<float> b = {0, 0};
  float c = 0;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<MatrixProduct> product, MatrixProduct::Create({1, 1, 2}));
  ASSERT_OK(product->Run(a.data(), b.data(), nullptr, &c));
  EXPECT_TRUE(std::isnan(c));
}

TEST(MatrixProductTest, WhatOneDnnRefusesIsAStatus) {
  EXPECT_THAT(MatrixProduct::Create({-1, 1, 2}),
              StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("matrix product [-1, 2] . [2, 1]")));
}

}  // namespace
}  // namespace lockstep

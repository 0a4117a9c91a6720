#include "model/kernels/column_sums.h"

#include <cmath>
#include <vector>

#include "base/cpu.h"
#include "gtest/gtest.h"
#include "model/kernels/column_sums_simd.h"
#include "model/kernels/guarded_array.h"
#include "model/kernels/kernel_cases.h"
#include "model/kernels/reference_kernels.h"

namespace lockstep {
namespace {

std::vector<decltype(&ColumnSums)> KernelsOfThisProcessor() {
  if (BestInstructionSet() == InstructionSet::kAvx512) return {avx2::ColumnSums, avx512::ColumnSums};
  return {avx2::ColumnSums};
}

TEST(ColumnSumsTest, AgreesWithTheReference) {
  for (const auto kernel : KernelsOfThisProcessor()) {
    for (const MatrixSize size : MatrixCases()) {
      for (const int64_t misalignment : MisalignmentCases()) {
        const GuardedArray matrix(Numbers(size.rows * size.columns, 1, 1), misalignment);
        const GuardedArray sums(size.columns, misalignment + 1);
        kernel(size, matrix.data(), sums.data());
        std::vector<double> expected(static_cast<size_t>(size.columns));
        reference::ColumnSums(size, matrix.values().data(), expected.data());
        for (size_t i = 0; i < expected.size(); ++i) {
          // Each of `rows` additions of sums up to `rows` rounds by half a unit in the last place.
          EXPECT_NEAR(expected[i], sums.values()[i], static_cast<double>(size.rows * size.rows) * 0x1p-25)
              << size.rows << " x " << size.columns << " column " << i;
        }
        EXPECT_TRUE(sums.intact()) << size.rows << " x " << size.columns;
      }
    }
  }
}

// One running sum would be off by 1.4.
TEST(ColumnSumsTest, ManyRowsKeepTheirPrecision) {
  constexpr int64_t kRows = 100000;
  const std::vector<float> tenths(kRows, 0.1f);
  float sum = 0;
  ColumnSums({kRows, 1}, tenths.data(), &sum);
  // 782 block sums are added, each to half a unit in the last place of 10000, 2^-11.
  EXPECT_NEAR(sum, kRows * static_cast<double>(0.1f), 0.39);
}

}  // namespace
}  // namespace lockstep

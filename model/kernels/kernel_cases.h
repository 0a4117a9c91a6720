// Sizes and numbers that the tests and benchmarks of all kernels go through.
#ifndef LOCKSTEP_MODEL_KERNELS_KERNEL_CASES_H_
#define LOCKSTEP_MODEL_KERNELS_KERNEL_CASES_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/kernels/matrix_size.h"

namespace lockstep {

// Around the widths of the registers (8 and 16) and their multiples, and empty.
inline std::vector<MatrixSize> MatrixCases() {
  std::vector<MatrixSize> cases;
  for (const int64_t columns : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 101}) {
    for (const int64_t rows : {1, 2, 5}) cases.push_back({rows, columns});
  }
  cases.push_back({0, 5});
  cases.push_back({300, 10});
  cases.push_back({3, 1000});
  return cases;
}

// Distances from an aligned address, in elements.
inline std::vector<int64_t> MisalignmentCases() { return {0, 1, 7}; }

// Values from -scale to scale without a pattern, exact in float. `salt` tells arrays apart.
inline std::vector<double> Numbers(int64_t count, double scale, int salt) {
  std::vector<double> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double angle = static_cast<double>(i) * 1.61803398875 + salt * 0.7548776662;
    numbers[i] = static_cast<float>(scale * (2 * (angle - std::floor(angle)) - 1));
  }
  return numbers;
}

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_KERNEL_CASES_H_

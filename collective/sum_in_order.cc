#include "collective/sum_in_order.h"

#include "base/cpu.h"
#include "collective/sum_in_order_simd.h"

namespace lockstep {
namespace {

void SumFloats(absl::Span<const float* const> operands, absl::Span<float* const> sums, size_t size) {
  auto* const sum = BestInstructionSet() == InstructionSet::kAvx512 ? &avx512::SumInOrder : &avx2::SumInOrder;
  sum(operands.data(), static_cast<int>(operands.size()), sums.data(), static_cast<int>(sums.size()),
      static_cast<int64_t>(size));
}

}  // namespace

// A few numbers that travel beside the floats: not worth vectors.
void SumInOrder(absl::Span<const double* const> operands, size_t size, double* sum) {
  for (size_t i = 0; i < size; ++i) {
    double total = operands[0][i];
    for (const double* operand : operands.subspan(1)) total += operand[i];
    sum[i] = total;
  }
}

void SumInOrder(absl::Span<const float* const> operands, size_t size, float* sum) {
  SumFloats(operands, {&sum, 1}, size);
}

void SumInOrderToAll(absl::Span<float* const> operands, size_t size) { SumFloats(operands, operands, size); }

}  // namespace lockstep

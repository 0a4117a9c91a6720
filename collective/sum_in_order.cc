#include "collective/sum_in_order.h"

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

// Summed in a block that stays in the first-level cache, and stored once: so `sum` may be any operand.
template <typename T>
void SumBlocks(absl::Span<const T* const> operands, size_t size, T* sum) {
  constexpr size_t kBlock = 4096 / sizeof(T);
  T block[kBlock];
  for (size_t begin = 0; begin < size; begin += kBlock) {
    const size_t count = std::min(kBlock, size - begin);
    std::memcpy(block, operands[0] + begin, count * sizeof(T));
    for (const T* operand : operands.subspan(1)) {
      for (size_t i = 0; i < count; ++i) block[i] += operand[begin + i];
    }
    std::memcpy(sum + begin, block, count * sizeof(T));
  }
}

}  // namespace

void SumInOrder(absl::Span<const double* const> operands, size_t size, double* sum) {
  SumBlocks(operands, size, sum);
}

void SumInOrder(absl::Span<const float* const> operands, size_t size, float* sum) {
  SumBlocks(operands, size, sum);
}

}  // namespace lockstep

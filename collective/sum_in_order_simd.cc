#include "collective/sum_in_order_simd.h"

#include "base/simd.h"

namespace lockstep {
namespace LOCKSTEP_SIMD {

// Whole vectors of all operands at a time, rather than one operand after the other in blocks: buffers that
// begin at the same place of a page would make loads wait for unrelated stores (4K aliasing).
void SumInOrder(const float* const* operands, int num_operands, float* const* sums, int num_sums,
                int64_t size) {
  int64_t i = 0;
  for (; i + kWidth <= size; i += kWidth) {
    Batch sum = Load(operands[0] + i);
    for (int k = 1; k < num_operands; ++k) sum += Load(operands[k] + i);
    for (int k = 0; k < num_sums; ++k) Store(sum, sums[k] + i);
  }
  for (; i < size; ++i) {
    float sum = operands[0][i];
    for (int k = 1; k < num_operands; ++k) sum += operands[k][i];
    for (int k = 0; k < num_sums; ++k) sums[k][i] = sum;
  }
}

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

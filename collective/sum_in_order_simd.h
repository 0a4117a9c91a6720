// The loops of sum_in_order.h over floats, for one instruction set each.
#ifndef LOCKSTEP_COLLECTIVE_SUM_IN_ORDER_SIMD_H_
#define LOCKSTEP_COLLECTIVE_SUM_IN_ORDER_SIMD_H_

#include <cstdint>

namespace lockstep {
namespace avx2 {

// sums[k][i] = (operands[0][i] + operands[1][i]) + ..., for all k < num_sums and i < size.
void SumInOrder(const float* const* operands, int num_operands, float* const* sums, int num_sums,
                int64_t size);

}  // namespace avx2
namespace avx512 {

void SumInOrder(const float* const* operands, int num_operands, float* const* sums, int num_sums,
                int64_t size);

}  // namespace avx512
}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SUM_IN_ORDER_SIMD_H_

// Sums of several buffers, always in the same order of summation.
#ifndef LOCKSTEP_COLLECTIVE_SUM_IN_ORDER_H_
#define LOCKSTEP_COLLECTIVE_SUM_IN_ORDER_H_

#include <cstddef>

#include "absl/types/span.h"

namespace lockstep {

// sum[i] = ((operands[0][i] + operands[1][i]) + operands[2][i]) + ..., for i < size. At least one operand;
// `sum` may be one of them, and no other two overlap.
void SumInOrder(absl::Span<const double* const> operands, size_t size, double* sum);
void SumInOrder(absl::Span<const float* const> operands, size_t size, float* sum);

// The same sum stored in place of each operand. No two overlap.
void SumInOrderToAll(absl::Span<float* const> operands, size_t size);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SUM_IN_ORDER_H_

// The losses of model/loss.h, naively and in double, as an oracle for tests.
#ifndef LOCKSTEP_MODEL_REFERENCE_LOSS_H_
#define LOCKSTEP_MODEL_REFERENCE_LOSS_H_

#include <cstdint>
#include <vector>

#include "model/labels.h"
#include "proto/model.pb.h"

namespace lockstep {

// The sum over rows of each row's loss; outputs are [rows, output_shape]. No attempt at avoiding overflow.
double ReferenceLossSum(const v1::Loss& spec, const std::vector<int64_t>& output_shape,
                        const std::vector<double>& outputs, const Labels& labels, int64_t rows);

// Its gradient by central differences.
std::vector<double> ReferenceLossGradient(const v1::Loss& spec, const std::vector<int64_t>& output_shape,
                                          const std::vector<double>& outputs, const Labels& labels,
                                          int64_t rows);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_REFERENCE_LOSS_H_

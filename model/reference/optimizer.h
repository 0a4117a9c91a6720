// The update rules of model/optimizer.h, naively and in double, as an oracle for tests.
#ifndef LOCKSTEP_MODEL_REFERENCE_OPTIMIZER_H_
#define LOCKSTEP_MODEL_REFERENCE_OPTIMIZER_H_

#include <cstdint>
#include <vector>

#include "proto/model.pb.h"

namespace lockstep {

// One update; `step` counts from 1. Slots in the order of Optimizer::slots(), with initial values at step 1.
void ReferenceApply(const v1::Optimizer& spec, int64_t step, double learning_rate,
                    const std::vector<double>& gradients, std::vector<double>* parameters,
                    std::vector<std::vector<double>>* slots);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_REFERENCE_OPTIMIZER_H_

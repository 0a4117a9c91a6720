// What the rows of one batch add to a step's totals.
#ifndef LOCKSTEP_WORKER_BATCH_TOTALS_H_
#define LOCKSTEP_WORKER_BATCH_TOTALS_H_

#include "data/batch_loader.h"
#include "worker/replica.h"
#include "worker/step_totals.h"

namespace lockstep {

// Adds the rows' weight, loss and metrics, given the network's outputs [rows, outputs]. `output_gradient`, of
// the same shape, is overwritten with the gradient of the loss sum; null: it is not wanted.
void AddBatch(const Replica& replica, const Batch& batch, const float* outputs, float* output_gradient,
              StepTotals* totals);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_BATCH_TOTALS_H_

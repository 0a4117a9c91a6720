#include "worker/evaluator.h"

#include <utility>

#include "base/status_macros.h"
#include "worker/batch_totals.h"

namespace lockstep {

Evaluator::Evaluator(Replica* replica, Communicator* communicator, std::unique_ptr<BatchLoader> loader,
                     int64_t steps)
    : replica_(replica), communicator_(communicator), loader_(std::move(loader)), steps_(steps) {}

absl::StatusOr<StepTotals> Evaluator::Run() {
  StepTotals totals(replica_->metrics().size());
  for (int64_t step = 0; step < steps_; ++step) {
    ASSIGN_OR_RETURN(const Batch* batch, loader_->Next());
    ASSIGN_OR_RETURN(const float* outputs,
                     replica_->network().Forward(replica_->parameters(), batch->features.data(), batch->rows,
                                                 PassContext()));
    AddBatch(*replica_, *batch, outputs, nullptr, &totals);
  }
  RETURN_IF_ERROR(communicator_->AllReduce({totals.all(), {}}));
  return totals;
}

}  // namespace lockstep

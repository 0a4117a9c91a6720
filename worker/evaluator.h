// One pass over a dataset without training: loss and metrics, exact over ranks and last batches.
#ifndef LOCKSTEP_WORKER_EVALUATOR_H_
#define LOCKSTEP_WORKER_EVALUATOR_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "collective/communicator.h"
#include "data/batch_loader.h"
#include "worker/replica.h"
#include "worker/step_totals.h"

namespace lockstep {

class Evaluator {
 public:
  // The loader yields the dataset's rows in order, each once per epoch of `steps` steps. Pointers are not
  // owned.
  Evaluator(Replica* replica, Communicator* communicator, std::unique_ptr<BatchLoader> loader, int64_t steps);

  // Collective. Totals over all rows and ranks, reduced once at the end of the pass.
  absl::StatusOr<StepTotals> Run();

 private:
  Replica* const replica_;
  Communicator* const communicator_;
  const std::unique_ptr<BatchLoader> loader_;
  const int64_t steps_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_EVALUATOR_H_

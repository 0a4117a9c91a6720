// One step of synchronous training: the file to read first. DESIGN.md tells the life of a step in prose.
//
//   forward            this rank's rows: loss sum, weight, metric sums       -> head
//   backward           gradients of the loss SUM into the flat buffer, last layers first
//   buckets            each full bucket is reduced while backward goes on    head | buckets | tail
//   commit             everything is in: divide, regularise, check, clip, update
//
// Nothing is updated before commit, so a step that fails leaves the replica as it was.
// Thread-compatible.
#ifndef LOCKSTEP_WORKER_TRAIN_STEP_H_
#define LOCKSTEP_WORKER_TRAIN_STEP_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collective/communicator.h"
#include "data/batch_loader.h"
#include "worker/bucket_sink.h"
#include "worker/replica.h"
#include "worker/step_totals.h"

namespace lockstep {

struct TrainStepOptions {
  int64_t bytes_per_pack = int64_t{25} << 20;
  uint64_t seed = 0;  // of dropout
};

class TrainStep {
 public:
  // Neither pointer is owned. All ranks call it: gradients lie in memory of the communicator.
  // Errors: the communicator's; INVALID_ARGUMENT: bytes_per_pack is less than one float.
  static absl::StatusOr<std::unique_ptr<TrainStep>> Create(Replica* replica, Communicator* communicator,
                                                           const TrainStepOptions& options);

  // Takes one step with this rank's rows of the global batch and returns the totals over all ranks.
  // `input_wait` is how long the batch let this rank wait. The step's learning rate is the schedule's times
  // `learning_rate_scale`.
  // Errors: the communicator's (the step is not applied); INVALID_ARGUMENT, the same on every rank, if loss
  // or gradient are not finite.
  absl::StatusOr<const StepTotals*> Run(const Batch& batch, absl::Duration input_wait,
                                        double learning_rate_scale);

 private:
  TrainStep(Replica* replica, Communicator* communicator, const TrainStepOptions& options, BucketPlan plan,
            std::unique_ptr<CollectiveBuffer> gradients);

  absl::Status Forward(const Batch& batch);
  absl::Status Backward(absl::Time step_begin);
  absl::Status Commit(double learning_rate_scale);

  Replica* const replica_;
  Communicator* const communicator_;
  const TrainStepOptions options_;
  const std::unique_ptr<CollectiveBuffer> gradients_;
  StepTotals totals_;
  BucketSink sink_;
  AlignedBuffer<float> output_gradient_;  // [rows, outputs], grown to the largest batch
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_TRAIN_STEP_H_

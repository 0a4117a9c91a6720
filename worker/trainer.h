// The fit loop of one rank: agree, restore, epochs of steps, validation, callbacks, checkpoints. Every rank
// runs the same loop and takes the same decisions, since they come from reduced values alone. One-thread.
#ifndef LOCKSTEP_WORKER_TRAINER_H_
#define LOCKSTEP_WORKER_TRAINER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file_system.h"
#include "collective/communicator.h"
#include "data/batch_loader.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "worker/checkpointer.h"
#include "worker/epoch_meter.h"
#include "worker/evaluator.h"
#include "worker/fit_listener.h"
#include "worker/fit_plan.h"
#include "worker/fit_reporter.h"
#include "worker/fit_state.h"
#include "worker/replica.h"
#include "worker/train_step.h"
#include "worker/training_callbacks.h"

namespace lockstep {

struct TrainerOptions {
  std::string data_root = ".";
  std::string output_root = ".";
  FileSystem* file_system = nullptr;  // null: the real one
  FitListener* listener = nullptr;    // null: nobody listens
};

class Trainer {
 public:
  // `spec` needs model, compile and fit. `state` is followed from step to step. Nothing is owned.
  Trainer(const v1::JobSpec& spec, TrainingData data, Replica* replica, Communicator* communicator,
          const TrainerOptions& options, FitState* state);

  // Collective. Trains to the end and returns when the last checkpoint is durable and every rank has arrived.
  // On rank 0 the summary is complete; on the others, without `ranks`.
  // Errors: see TrainStep::Run, Checkpointer, CheckFingerprints, CheckHashes, BatchLoader.
  absl::StatusOr<v1::JobSummary> Fit();

 private:
  absl::Status MakeLoaders();
  absl::Status SettleDataOrder(bool goes_on);
  absl::Status MakeCallbacks();
  absl::Status CatchUp();
  void SayHowItBegins();
  void AnnounceBegin();
  absl::Status RunEpoch();
  absl::Status RunStep(int64_t step_in_epoch);
  absl::Status EndEpoch();
  absl::StatusOr<NamedValues> Validate();
  absl::Status ApplyDecision(const EpochDecision& decision);
  absl::Status SaveIfDue(bool due);
  absl::Status GatherRankStats(const CommunicatorStats& before, v1::JobSummary* summary);

  bool Done() const;

  const v1::JobSpec spec_;
  const TrainingData data_;
  Replica* const replica_;
  Communicator* const communicator_;
  const TrainerOptions options_;
  FileSystem* const files_;
  FitListener silent_;
  FitListener* const listener_;

  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<TrainingCallbacks> callbacks_;
  std::unique_ptr<BatchLoader> loader_;
  std::unique_ptr<Evaluator> evaluator_;  // null without validation
  std::unique_ptr<TrainStep> train_step_;

  FitState* const state_;
  v1::CheckpointManifest& position_;  // the state's
  SamplerOptions data_order_;
  int64_t steps_per_epoch_ = 0;
  int64_t train_rows_ = 0, validation_rows_ = 0;  // of all ranks
  bool stop_ = false;

  EpochMeter meter_;
  FitReporter reporter_;
  v1::RankStats stats_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_TRAINER_H_

// Tells a listener how a fit goes on, and collects what the job's summary needs. Does nothing on ranks other
// than 0 but collect. One-thread.
#ifndef LOCKSTEP_WORKER_FIT_REPORTER_H_
#define LOCKSTEP_WORKER_FIT_REPORTER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "worker/epoch_meter.h"
#include "worker/fit_listener.h"
#include "worker/replica.h"

namespace lockstep {

class FitReporter {
 public:
  // `position` is followed as it changes. Nothing is owned.
  FitReporter(const v1::JobSpec& spec, const Replica* replica, const v1::CheckpointManifest* position,
              FitListener* listener);

  // Rows are those of all ranks.
  void Begin(int rank, int world_size, int64_t steps_per_epoch, int64_t train_rows, int64_t validation_rows);
  // After a step. Most are passed over: nobody reads more than some dozens per second.
  void Step(const EpochMeter& meter);
  // After the training part of an epoch, before validation.
  void Trained(const EpochMeter& meter);
  // After an epoch with its validation; `position` counts it already.
  void Epoch(const EpochMeter& meter, const NamedValues& metrics, double learning_rate);
  void Message(absl::string_view text) { listener_->OnMessage(text); }

  double train_seconds() const { return train_seconds_; }

  // epochs, steps, rate, history, metrics, hash; without `ranks`.
  v1::JobSummary Summary() const;

 private:
  const v1::JobSpec& spec_;
  const Replica* const replica_;
  const v1::CheckpointManifest* const position_;
  FitListener* const listener_;

  int rank_ = 0;
  int world_size_ = 1;
  int64_t steps_per_epoch_ = 0;
  absl::Time last_progress_ = absl::InfinitePast();
  double epoch_rows_per_second_ = 0;
  double train_seconds_ = 0;
  double train_rows_ = 0;
  v1::JobSummary summary_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_FIT_REPORTER_H_

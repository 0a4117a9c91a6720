#include "worker/fit_reporter.h"

#include "absl/time/clock.h"
#include "base/hash.h"
#include "worker/fit_plan.h"

namespace lockstep {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(20);

void ToProto(const NamedValues& values, google::protobuf::RepeatedPtrField<v1::NamedValue>* out) {
  for (const auto& [name, value] : values) {
    v1::NamedValue* entry = out->Add();
    entry->set_name(name);
    entry->set_value(value);
  }
}

}  // namespace

FitReporter::FitReporter(const v1::JobSpec& spec, const Replica* replica,
                         const v1::CheckpointManifest* position, FitListener* listener)
    : spec_(spec), replica_(replica), position_(position), listener_(listener) {}

void FitReporter::Begin(int rank, int world_size, int64_t steps_per_epoch, int64_t train_rows,
                        int64_t validation_rows) {
  rank_ = rank;
  world_size_ = world_size;
  steps_per_epoch_ = steps_per_epoch;
  v1::FitBegin begin;
  begin.set_world_size(world_size);
  begin.set_global_batch(position_->global_batch());
  // With files of their own, ranks have shares in proportion to their rows.
  if (spec_.data().train().shard() != v1::Dataset::FILE) {
    for (const int64_t share : Shares(position_->global_batch(), world_size)) begin.add_shares(share);
  }
  begin.set_epochs(spec_.fit().epochs());
  begin.set_steps_per_epoch(steps_per_epoch);
  begin.set_train_rows(train_rows);
  begin.set_validation_rows(validation_rows);
  for (const Parameter& parameter : replica_->network().layout().parameters())
    begin.set_parameters(begin.parameters() + parameter.size);
  begin.set_first_epoch(position_->epoch());
  begin.set_seed(position_->seed());
  listener_->OnFitBegin(begin);
}

void FitReporter::Step(const EpochMeter& meter) {
  if (rank_ != 0) return;
  const absl::Time now = absl::Now();
  const bool last = position_->step_in_epoch() == steps_per_epoch_;
  if (!last && now - last_progress_ < kProgressInterval) return;
  last_progress_ = now;
  v1::Progress progress;
  progress.set_epoch(position_->epoch() + 1);
  progress.set_step(position_->step_in_epoch());
  progress.set_steps_per_epoch(steps_per_epoch_);
  progress.set_global_step(replica_->step());
  progress.set_rows_per_second(meter.RowsPerSecond(now));
  progress.set_eta_seconds(meter.EtaSeconds(now));
  ToProto(MetricValues(meter.totals(), replica_->MetricNames(), 0), progress.mutable_metrics());
  listener_->OnProgress(progress);
}

void FitReporter::Trained(const EpochMeter& meter) {
  const absl::Time now = absl::Now();
  epoch_rows_per_second_ = meter.RowsPerSecond(now);
  train_seconds_ += meter.Seconds(now);
  train_rows_ += meter.rows();
}

void FitReporter::Epoch(const EpochMeter& meter, const NamedValues& metrics, double learning_rate) {
  v1::EpochEnd end;
  end.set_epoch(position_->epoch());
  end.set_epochs(spec_.fit().epochs());
  ToProto(metrics, end.mutable_metrics());
  end.set_seconds(meter.Seconds(absl::Now()));
  end.set_rows_per_second(epoch_rows_per_second_);
  end.set_steps(steps_per_epoch_);
  end.set_learning_rate(learning_rate);
  end.set_parameter_hash(HashToHex(replica_->ParameterHash()));
  *summary_.mutable_metrics() = end.metrics();
  v1::JobSummary::EpochMetrics* epoch = summary_.add_history();
  epoch->set_epoch(position_->epoch());
  *epoch->mutable_metrics() = end.metrics();
  listener_->OnEpochEnd(end);
}

v1::JobSummary FitReporter::Summary() const {
  v1::JobSummary summary = summary_;
  if (summary.metrics().empty()) {
    // Nothing was left to do: the checkpoint's values are the last ones.
    ToProto(NamedValues(position_->metrics().begin(), position_->metrics().end()), summary.mutable_metrics());
  }
  summary.set_state(v1::SUCCEEDED);
  summary.set_epochs(position_->epoch());
  summary.set_steps(replica_->step());
  summary.set_world_size(world_size_);
  summary.set_rows_per_second(train_seconds_ > 0 ? train_rows_ / train_seconds_ : 0);
  summary.set_parameter_hash(HashToHex(replica_->ParameterHash()));
  return summary;
}

}  // namespace lockstep

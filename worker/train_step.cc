#include "worker/train_step.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "worker/batch_totals.h"

namespace lockstep {
namespace {

// Which ranks a non-finite loss came from, as far as the sums tell.
std::string Culprits(StepTotals* totals, int world_size) {
  if (totals->non_finite_ranks() == 1) return absl::StrFormat("rank %.0f", totals->non_finite_rank_sum());
  return absl::StrFormat("%.0f of %d ranks", totals->non_finite_ranks(), world_size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainStep>> TrainStep::Create(Replica* replica, Communicator* communicator,
                                                             const TrainStepOptions& options) {
  ASSIGN_OR_RETURN(BucketPlan plan,
                   BucketPlan::Create(replica->network().layout().size(), options.bytes_per_pack));
  ASSIGN_OR_RETURN(std::unique_ptr<CollectiveBuffer> gradients,
                   communicator->Allocate(plan.size() * sizeof(float)));
  return std::unique_ptr<TrainStep>(
      new TrainStep(replica, communicator, options, std::move(plan), std::move(gradients)));
}

TrainStep::TrainStep(Replica* replica, Communicator* communicator, const TrainStepOptions& options,
                     BucketPlan plan, std::unique_ptr<CollectiveBuffer> gradients)
    : replica_(replica),
      communicator_(communicator),
      options_(options),
      gradients_(std::move(gradients)),
      totals_(replica->metrics().size()),
      sink_(std::move(plan), communicator, gradients_->floats(), &totals_) {}

absl::StatusOr<const StepTotals*> TrainStep::Run(const Batch& batch, absl::Duration input_wait,
                                                 double learning_rate_scale) {
  totals_.Clear();
  totals_.input_seconds() = absl::ToDoubleSeconds(input_wait);
  const absl::Time begin = absl::Now();
  RETURN_IF_ERROR(Forward(batch));
  // Buckets may be under way when backward fails: the gradients are the communicator's until it has let go of
  // them.
  if (const absl::Status backward = Backward(begin); !backward.ok()) communicator_->Abort(backward);
  RETURN_IF_ERROR(communicator_->WaitAll());
  RETURN_IF_ERROR(Commit(learning_rate_scale));
  return &totals_;
}

absl::Status TrainStep::Forward(const Batch& batch) {
  PassContext context;
  context.training = true;
  context.seed = options_.seed;
  context.step = replica_->step();
  context.first_row = batch.first_row_in_batch;
  ASSIGN_OR_RETURN(
      const float* outputs,
      replica_->network().Forward(replica_->parameters(), batch.features.data(), batch.rows, context));
  const size_t outputs_size = batch.rows * NumElements(replica_->network().output_shape());
  if (output_gradient_.size() < outputs_size) output_gradient_ = AlignedBuffer<float>(outputs_size);
  AddBatch(*replica_, batch, outputs, output_gradient_.data(), &totals_);
  if (!std::isfinite(totals_.loss_sum())) {
    totals_.non_finite_ranks() = 1;
    totals_.non_finite_rank_sum() = communicator_->rank();
  }
  return absl::OkStatus();
}

absl::Status TrainStep::Backward(absl::Time step_begin) {
  sink_.BeginStep(step_begin);
  RETURN_IF_ERROR(replica_->network().Backward(replica_->parameters(), output_gradient_.data(),
                                               gradients_->floats(), &sink_));
  return sink_.EndStep();
}

absl::Status TrainStep::Commit(double learning_rate_scale) {
  const int64_t step = replica_->step() + 1;
  if (totals_.non_finite_ranks() > 0 || !std::isfinite(totals_.loss_sum())) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the loss is not finite at step %d on %s; the step is not applied. A smaller "
                        "learning rate, clipping or "
                        "scaled inputs may help",
                        step, Culprits(&totals_, communicator_->world_size())));
  }
  const GradientSummary summary =
      replica_->finisher().Finish(totals_.weight(), replica_->parameters(), gradients_->floats());
  if (!summary.finite) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the gradient of %s is not finite at step %d; the step is not applied. A smaller "
                        "learning rate or clipping "
                        "may help",
                        replica_->NonFiniteGradient(gradients_->floats()), step));
  }
  // Counts once in the reported loss, by the weights that the step was computed with, as in Keras.
  totals_.loss_sum() += totals_.weight() * replica_->finisher().RegularizationLoss(replica_->parameters());
  replica_->Update(replica_->optimizer().LearningRateAt(replica_->step()) * learning_rate_scale,
                   gradients_->floats());
  return absl::OkStatus();
}

}  // namespace lockstep

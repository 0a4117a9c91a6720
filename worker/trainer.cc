#include "worker/trainer.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "worker/agreement.h"
#include "worker/fit_start.h"

namespace lockstep {
namespace {

StepTotals ToTotals(const v1::CheckpointManifest& position, size_t num_metrics) {
  StepTotals totals(num_metrics);
  const size_t size = totals.all().size();
  if (static_cast<size_t>(position.epoch_totals_size()) == size)
    std::copy(position.epoch_totals().begin(), position.epoch_totals().end(), totals.all().begin());
  return totals;
}

}  // namespace

Trainer::Trainer(const v1::JobSpec& spec, TrainingData data, Replica* replica, Communicator* communicator,
                 const TrainerOptions& options, FitState* state)
    : spec_(spec),
      data_(std::move(data)),
      replica_(replica),
      communicator_(communicator),
      options_(options),
      files_(options.file_system != nullptr ? options.file_system : FileSystem::Posix()),
      listener_(options.listener != nullptr ? options.listener : &silent_),
      state_(state),
      position_(state->position),
      meter_(replica->metrics().size()),
      reporter_(spec_, replica, &position_, listener_) {}

absl::StatusOr<v1::JobSummary> Trainer::Fit() {
  RETURN_IF_ERROR(AgreeOnFit(spec_, data_, *replica_, communicator_));
  ASSIGN_OR_RETURN(checkpointer_, Checkpointer::Create(spec_.checkpoint(), communicator_->rank(),
                                                       options_.output_root, files_, listener_));
  ASSIGN_OR_RETURN(const bool goes_on, StartFit(spec_, {options_.data_root, files_, listener_},
                                                checkpointer_.get(), state_, replica_, communicator_));
  RETURN_IF_ERROR(MakeLoaders());
  RETURN_IF_ERROR(SettleDataOrder(goes_on));
  RETURN_IF_ERROR(MakeCallbacks());
  AnnounceBegin();
  if (goes_on) {
    RETURN_IF_ERROR(CatchUp());
  } else {
    SayHowItBegins();
  }
  const CommunicatorStats before = communicator_->stats();
  while (!Done()) RETURN_IF_ERROR(RunEpoch());
  RETURN_IF_ERROR(checkpointer_->Flush());
  v1::JobSummary summary = reporter_.Summary();
  checkpointer_->AddTo(&summary);
  RETURN_IF_ERROR(GatherRankStats(before, &summary));
  // A rank that leaves first must not look like a lost one to the others.
  RETURN_IF_ERROR(communicator_->Barrier());
  return summary;
}

absl::Status Trainer::MakeLoaders() {
  ASSIGN_OR_RETURN(LoaderPlan plan,
                   PlanTraining(spec_, data_.train, replica_->loss(), position_.seed(), communicator_));
  ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(plan.sampler));
  data_order_ = plan.sampler;
  steps_per_epoch_ = sampler.steps_per_epoch();
  train_rows_ = plan.total_rows;
  int64_t most_rows = sampler.largest_share();
  plan.loader.first_epoch = position_.epoch();
  plan.loader.first_step = position_.step_in_epoch();
  ASSIGN_OR_RETURN(loader_, BatchLoader::Create(plan.dataset, std::move(sampler), plan.loader));

  if (data_.validation != nullptr) {
    ASSIGN_OR_RETURN(LoaderPlan pass, PlanPass(spec_, data_.validation, replica_->loss(), communicator_));
    ASSIGN_OR_RETURN(Sampler pass_sampler, Sampler::Create(pass.sampler));
    most_rows = std::max(most_rows, pass_sampler.largest_share());
    const int64_t steps = pass_sampler.steps_per_epoch();
    validation_rows_ = pass.total_rows;
    ASSIGN_OR_RETURN(std::unique_ptr<BatchLoader> loader,
                     BatchLoader::Create(pass.dataset, std::move(pass_sampler), pass.loader));
    evaluator_ = std::make_unique<Evaluator>(replica_, communicator_, std::move(loader), steps);
  }

  ASSIGN_OR_RETURN(const int threads, IntraOpThreads(spec_, communicator_));
  RETURN_IF_ERROR(replica_->network().Prepare(std::max<int64_t>(most_rows, 1), threads));

  TrainStepOptions step_options;
  if (spec_.communication_options().bytes_per_pack() > 0)
    step_options.bytes_per_pack = spec_.communication_options().bytes_per_pack();
  step_options.seed = position_.seed();
  ASSIGN_OR_RETURN(train_step_, TrainStep::Create(replica_, communicator_, step_options));
  return absl::OkStatus();
}

absl::Status Trainer::SettleDataOrder(bool goes_on) {
  const std::string order = DescribeDataOrder(data_order_);
  // After an interruption all steps of an epoch may be done, and its end be still to come.
  const int64_t most = goes_on ? steps_per_epoch_ : steps_per_epoch_ - 1;
  if (position_.step_in_epoch() > most) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the checkpoint of step %d lies behind %d steps of an epoch, and an epoch of this "
                        "job has %d. Resume with "
                        "a larger fit.steps_per_epoch, or from a checkpoint at the end of an epoch",
                        position_.step(), position_.step_in_epoch(), steps_per_epoch_));
  }
  if (position_.step_in_epoch() > 0 && !position_.data_order().empty() && position_.data_order() != order) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the checkpoint of step %d lies within an epoch of %s; this job has %s: the rows "
                        "that are left cannot "
                        "be told. Resume with the same data, or from a checkpoint at the end of an epoch",
                        position_.step(), position_.data_order(), order));
  }
  position_.set_data_order(order);
  return absl::OkStatus();
}

absl::Status Trainer::MakeCallbacks() {
  const auto monitors =
      MonitorNames(replica_->compiled(), evaluator_ != nullptr ? Validation::kEachEpoch : Validation::kNone);
  ASSIGN_OR_RETURN(callbacks_, TrainingCallbacks::Create(spec_.fit(), spec_.checkpoint(), monitors));
  callbacks_->Restore(position_.callbacks());
  if (spec_.fit().early_stopping().restore_best_weights() &&
      position_.callbacks().early_stopping().has_best() && state_->best_parameters.size() == 0) {
    reporter_.Message(
        "early_stopping.restore_best_weights: the best weights from before the resume are not kept; those of "
        "later "
        "epochs are restored only if they are better");
  }
  *position_.mutable_callbacks() = callbacks_->state();
  // Without the rule nothing keeps the job from going on.
  stop_ = position_.callbacks().stopped() && spec_.fit().has_early_stopping();
  return absl::OkStatus();
}

void Trainer::AnnounceBegin() {
  reporter_.Begin(communicator_->rank(), communicator_->world_size(), steps_per_epoch_, train_rows_,
                  validation_rows_);
}

// The step or the epoch that the interruption hit may have been counted on another rank only, before rank 0
// had told of it or saved it.
absl::Status Trainer::CatchUp() {
  if (position_.step_in_epoch() > 0 || position_.epoch() == 0)
    return SaveIfDue(position_.step_in_epoch() < steps_per_epoch_ &&
                     checkpointer_->DueAfterStep(replica_->step()));
  reporter_.Epoch(meter_, NamedValues(position_.metrics().begin(), position_.metrics().end()),
                  replica_->optimizer().LearningRateAt(replica_->step() - 1) *
                      position_.callbacks().learning_rate_scale());
  const v1::CallbackState::Watch& best = position_.callbacks().best();
  if (best.has_best() && best.best_epoch() == position_.epoch())
    RETURN_IF_ERROR(checkpointer_->SaveBest(*replica_, position_));
  return SaveIfDue(checkpointer_->DueAfterEpoch(position_.epoch(), replica_->step(), Done()));
}

// Not again when the job goes on.
void Trainer::SayHowItBegins() {
  const v1::Dataset::Shard shard = spec_.data().train().shard();
  if (communicator_->world_size() > 1 &&
      (shard == v1::Dataset::AUTO || shard == v1::Dataset::SHARD_UNSPECIFIED))
    reporter_.Message(
        "shard AUTO: rows, not files, are shared out: each rank takes its slice of every batch");
  if (!Done()) return;
  reporter_.Message(
      absl::StrFormat("nothing to do: the checkpoint of step %d %s %d epochs%s", replica_->step(),
                      stop_ ? "was stopped early after" : "has all", position_.epoch(),
                      stop_ ? "; leave fit.early_stopping out to go on" : "; raise fit.epochs to go on"));
}

bool Trainer::Done() const { return stop_ || position_.epoch() >= spec_.fit().epochs(); }

absl::Status Trainer::RunEpoch() {
  const int64_t first_step = position_.step_in_epoch();
  meter_.Begin(absl::Now(), first_step, steps_per_epoch_, ToTotals(position_, replica_->metrics().size()));
  for (int64_t step = first_step; step < steps_per_epoch_; ++step) RETURN_IF_ERROR(RunStep(step));
  reporter_.Trained(meter_);
  return EndEpoch();
}

absl::Status Trainer::RunStep(int64_t step_in_epoch) {
  const absl::Time asked = absl::Now();
  ASSIGN_OR_RETURN(const Batch* batch, loader_->Next());
  ASSIGN_OR_RETURN(const StepTotals* totals, train_step_->Run(*batch, absl::Now() - asked,
                                                              position_.callbacks().learning_rate_scale()));
  stats_.set_rows(stats_.rows() + batch->rows);
  meter_.AddStep(*totals);
  position_.set_step_in_epoch(step_in_epoch + 1);
  position_.set_step(replica_->step());
  position_.clear_epoch_totals();
  for (const double value : meter_.totals().all()) position_.add_epoch_totals(value);
  reporter_.Step(meter_);
  // The last step of an epoch is saved with the epoch, after validation.
  return SaveIfDue(step_in_epoch + 1 < steps_per_epoch_ && checkpointer_->DueAfterStep(replica_->step()));
}

absl::Status Trainer::EndEpoch() {
  // The regularisers' part is in the totals already, step by step.
  NamedValues metrics = MetricValues(meter_.totals(), replica_->MetricNames(), 0);
  const double learning_rate = replica_->optimizer().LearningRateAt(replica_->step() - 1) *
                               position_.callbacks().learning_rate_scale();
  if (evaluator_ != nullptr) {
    ASSIGN_OR_RETURN(const NamedValues validation, Validate());
    for (const auto& [name, value] : validation) metrics.emplace_back(absl::StrCat("val_", name), value);
  }
  RETURN_IF_ERROR(CheckHashes(communicator_, replica_->Hash(), "parameters", replica_->step()));

  position_.set_epoch(position_.epoch() + 1);
  position_.set_step_in_epoch(0);
  position_.clear_epoch_totals();
  position_.clear_metrics();
  for (const auto& [name, value] : metrics) (*position_.mutable_metrics())[name] = value;
  reporter_.Epoch(meter_, metrics, learning_rate);

  const std::map<std::string, double> values(metrics.begin(), metrics.end());
  RETURN_IF_ERROR(ApplyDecision(callbacks_->OnEpochEnd(position_.epoch(), values, learning_rate)));
  return SaveIfDue(checkpointer_->DueAfterEpoch(position_.epoch(), replica_->step(), Done()));
}

absl::StatusOr<NamedValues> Trainer::Validate() {
  ASSIGN_OR_RETURN(const StepTotals totals, evaluator_->Run());
  return MetricValues(totals, replica_->MetricNames(),
                      replica_->finisher().RegularizationLoss(replica_->parameters()));
}

absl::Status Trainer::ApplyDecision(const EpochDecision& decision) {
  *position_.mutable_callbacks() = callbacks_->state();
  if (!decision.reason.empty()) reporter_.Message(decision.reason);
  if (decision.is_best) RETURN_IF_ERROR(checkpointer_->SaveBest(*replica_, position_));
  if (decision.early_stopping_improved && spec_.fit().early_stopping().restore_best_weights()) {
    if (state_->best_parameters.size() == 0)
      state_->best_parameters = AlignedBuffer<float>(replica_->parameters().size());
    absl::c_copy(replica_->parameters(), state_->best_parameters.data());
  }
  stop_ = decision.stop;
  // As in Keras: at the end of training, whether it stopped early or not.
  if (Done() && state_->best_parameters.size() > 0)
    absl::c_copy(state_->best_parameters.span(), replica_->parameters().begin());
  return absl::OkStatus();
}

absl::Status Trainer::SaveIfDue(bool due) {
  if (!due) return checkpointer_->Check();
  ASSIGN_OR_RETURN(const uint64_t hash, checkpointer_->Copy(*replica_));
  const absl::Time asked = absl::Now();
  RETURN_IF_ERROR(CheckHashes(communicator_, hash, "parameters", replica_->step()));
  checkpointer_->AddStall(absl::Now() - asked);
  checkpointer_->Save(*replica_, position_);
  return absl::OkStatus();
}

absl::Status Trainer::GatherRankStats(const CommunicatorStats& before, v1::JobSummary* summary) {
  const CommunicatorStats now = communicator_->stats();
  stats_.set_rank(communicator_->rank());
  stats_.set_input_seconds(absl::ToDoubleSeconds(loader_->stats().waited));
  stats_.set_communication_seconds(absl::ToDoubleSeconds(now.busy - before.busy));
  const double exposed = absl::ToDoubleSeconds(now.exposed - before.exposed);
  stats_.set_exposed_communication_seconds(exposed);
  stats_.set_compute_seconds(std::max(0.0, reporter_.train_seconds() - stats_.input_seconds() - exposed));
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator_->AllGather(stats_.SerializeAsString()));
  for (const std::string& rank : all) {
    if (!summary->add_ranks()->ParseFromString(rank))
      return absl::InternalError("a rank sent broken statistics");
  }
  return absl::OkStatus();
}

}  // namespace lockstep

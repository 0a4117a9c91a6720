#include "worker/trainer.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/status_macros.h"
#include "worker/agreement.h"
#include "worker/replica_state.h"

namespace lockstep {
namespace {

void ToProto(const NamedValues& values, google::protobuf::RepeatedPtrField<v1::NamedValue>* out) {
  out->Clear();
  for (const auto& [name, value] : values) {
    v1::NamedValue* entry = out->Add();
    entry->set_name(name);
    entry->set_value(value);
  }
}

uint64_t DrawSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// For error messages, which are one line.
std::string LayoutLine(const ParameterLayout& layout) {
  std::string parameters = layout.ToString();
  absl::StripTrailingAsciiWhitespace(&parameters);
  return absl::StrCat("{ ", absl::StrReplaceAll(parameters, {{"\n", ", "}}), " }");
}

StepTotals ToTotals(const v1::CheckpointManifest& position, size_t num_metrics) {
  StepTotals totals(num_metrics);
  const size_t size = totals.all().size();
  if (static_cast<size_t>(position.epoch_totals_size()) == size)
    std::copy(position.epoch_totals().begin(), position.epoch_totals().end(), totals.all().begin());
  return totals;
}

}  // namespace

Trainer::Trainer(const v1::JobSpec& spec, TrainingData data, Replica* replica, Communicator* communicator,
                 const TrainerOptions& options)
    : spec_(spec),
      data_(std::move(data)),
      replica_(replica),
      communicator_(communicator),
      options_(options),
      listener_(options.listener != nullptr ? options.listener : &silent_),
      meter_(replica->metrics().size()) {}

absl::StatusOr<v1::JobSummary> Trainer::Fit() {
  RETURN_IF_ERROR(Agree());
  RETURN_IF_ERROR(RestoreState());
  RETURN_IF_ERROR(MakeLoaders());
  RETURN_IF_ERROR(MakeCallbacks());
  AnnounceBegin();
  while (!Done()) RETURN_IF_ERROR(RunEpoch());
  RETURN_IF_ERROR(Finish());
  return summary_;
}

absl::Status Trainer::Agree() {
  stats_before_ = communicator_->stats();
  const auto rows = [](const v1::Dataset& source, const std::shared_ptr<const Dataset>& dataset) {
    if (source.shard() == v1::Dataset::FILE) return std::string("its own");
    return absl::StrCat(dataset != nullptr ? dataset->info().rows : 0);
  };
  const v1::Data& data = spec_.data();
  const Fingerprint mine = {
      {"the model", LayoutLine(replica_->network().layout())},
      {"model, loss or optimizer", SpecHash(spec_.model(), spec_.compile())},
      {"fit", absl::StrCat("{ ", spec_.fit().ShortDebugString(), " }")},
      {"rows of the training data", rows(data.train(), data_.train)},
      {"rows of the validation data",
       rows(data.has_validation() ? data.validation() : data.train(), data_.validation)},
  };
  return CheckFingerprints(communicator_, mine);
}

absl::Status Trainer::RestoreState() {
  global_batch_ = GlobalBatch(spec_.fit(), communicator_->world_size());
  FileSystem* file_system = options_.file_system != nullptr ? options_.file_system : FileSystem::Posix();
  ASSIGN_OR_RETURN(checkpointer_, Checkpointer::Create(spec_.checkpoint(), communicator_->rank(),
                                                       options_.output_root, file_system, listener_));
  if (communicator_->rank() == 0) {
    ASSIGN_OR_RETURN(std::optional<v1::CheckpointManifest> resumed, checkpointer_->Resume(replica_));
    if (resumed.has_value()) {
      position_ = *std::move(resumed);
    } else {
      position_.set_seed(spec_.fit().has_seed() ? spec_.fit().seed() : DrawSeed());
      position_.set_global_batch(global_batch_);
      replica_->Initialize(position_.seed());
      if (!spec_.initial_weights().empty()) {
        ASSIGN_OR_RETURN(const std::string path,
                         ResolveBelow(options_.data_root, spec_.initial_weights(), "initial_weights"));
        RETURN_IF_ERROR(LoadWeights(file_system, path, replica_));
      }
    }
  }
  ASSIGN_OR_RETURN(const std::string position, BroadcastString(communicator_, position_.SerializeAsString()));
  if (!position_.ParseFromString(position))
    return absl::InternalError("rank 0 sent a position that does not parse");
  RETURN_IF_ERROR(BroadcastReplica(communicator_, replica_));
  if (spec_.fit().has_seed() && spec_.fit().seed() != position_.seed()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "fit.seed is %d, but the checkpoint of step %d was trained with seed %d: use that one, leave "
        "the field out, or set checkpoint.resume: NEVER with another directory",
        spec_.fit().seed(), position_.step(), position_.seed()));
  }
  if (position_.step_in_epoch() > 0 && position_.global_batch() != global_batch_) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the checkpoint of step %d lies within an epoch of %d rows per step, the job has %d: the rows that "
        "are left "
        "cannot be told. Resume with the same batch, or from a checkpoint at the end of an epoch",
        position_.step(), position_.global_batch(), global_batch_));
  }
  position_.set_global_batch(global_batch_);
  const std::string spec_hash = SpecHash(spec_.model(), spec_.compile());
  if (!position_.spec_hash().empty() && position_.spec_hash() != spec_hash) {
    listener_->OnMessage(absl::StrCat("the checkpoint of step ", position_.step(),
                                      " was written with another model or loss of the same shapes"));
  }
  position_.set_spec_hash(spec_hash);
  return CheckHashes(communicator_, replica_->Hash(), "parameters", replica_->step());
}

absl::Status Trainer::MakeLoaders() {
  ASSIGN_OR_RETURN(LoaderPlan plan,
                   PlanTraining(spec_, data_.train, replica_->loss(), position_.seed(), communicator_));
  ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(plan.sampler));
  steps_per_epoch_ = sampler.steps_per_epoch();
  int64_t most_rows = sampler.largest_share();
  ASSIGN_OR_RETURN(loader_, BatchLoader::Create(plan.dataset, std::move(sampler), plan.loader));
  loader_->Seek(position_.epoch(), position_.step_in_epoch());

  if (data_.validation != nullptr) {
    ASSIGN_OR_RETURN(LoaderPlan pass, PlanPass(spec_, data_.validation, replica_->loss(), communicator_));
    ASSIGN_OR_RETURN(Sampler pass_sampler, Sampler::Create(pass.sampler));
    most_rows = std::max(most_rows, pass_sampler.largest_share());
    const int64_t steps = pass_sampler.steps_per_epoch();
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

absl::Status Trainer::MakeCallbacks() {
  ASSIGN_OR_RETURN(callbacks_, TrainingCallbacks::Create(spec_.fit(), spec_.checkpoint(), MonitorNames()));
  callbacks_->Restore(position_.callbacks());
  if (spec_.fit().early_stopping().restore_best_weights() &&
      position_.callbacks().early_stopping().has_best()) {
    listener_->OnMessage(
        "early_stopping.restore_best_weights: the best weights from before the resume are not kept; those of "
        "later "
        "epochs are restored only if they are better");
  }
  *position_.mutable_callbacks() = callbacks_->state();
  stop_ = position_.callbacks().stopped();
  return absl::OkStatus();
}

std::vector<std::string> Trainer::MonitorNames() const {
  std::vector<std::string> names = {"loss"};
  for (const std::string& name : replica_->MetricNames()) names.push_back(name);
  if (evaluator_ == nullptr) return names;
  const size_t training = names.size();
  for (size_t i = 0; i < training; ++i) names.push_back(absl::StrCat("val_", names[i]));
  return names;
}

void Trainer::AnnounceBegin() {
  v1::FitBegin begin;
  begin.set_world_size(communicator_->world_size());
  begin.set_global_batch(global_batch_);
  for (const int64_t share : Shares(global_batch_, communicator_->world_size())) begin.add_shares(share);
  begin.set_epochs(spec_.fit().epochs());
  begin.set_steps_per_epoch(steps_per_epoch_);
  begin.set_train_rows(data_.train->info().rows);
  begin.set_validation_rows(data_.validation ? data_.validation->info().rows : 0);
  for (const Parameter& parameter : replica_->network().layout().parameters())
    begin.set_parameters(begin.parameters() + parameter.size);
  begin.set_first_epoch(position_.epoch());
  begin.set_seed(position_.seed());
  listener_->OnFitBegin(begin);
  const v1::Dataset::Shard shard = spec_.data().train().shard();
  if (communicator_->world_size() > 1 &&
      (shard == v1::Dataset::AUTO || shard == v1::Dataset::SHARD_UNSPECIFIED)) {
    listener_->OnMessage(
        "shard AUTO: rows, not files, are shared out: each rank takes its slice of every batch");
  }
  if (Done()) {
    listener_->OnMessage(absl::StrFormat("nothing to do: the checkpoint of step %d has all %d epochs",
                                         replica_->step(), spec_.fit().epochs()));
  }
}

bool Trainer::Done() const { return stop_ || position_.epoch() >= spec_.fit().epochs(); }

absl::Status Trainer::RunEpoch() {
  const int64_t first_step = position_.step_in_epoch();
  meter_.Begin(absl::Now(), first_step, steps_per_epoch_, ToTotals(position_, replica_->metrics().size()));
  for (int64_t step = first_step; step < steps_per_epoch_; ++step) RETURN_IF_ERROR(RunStep(step));
  train_seconds_ += meter_.Seconds(absl::Now());
  train_rows_ += meter_.rows();
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
  ReportProgress(step_in_epoch);
  // The last step of an epoch is saved with the epoch, after validation.
  return SaveIfDue(step_in_epoch + 1 < steps_per_epoch_ && checkpointer_->DueAfterStep(replica_->step()));
}

absl::Status Trainer::EndEpoch() {
  NamedValues metrics = MetricValues(meter_.totals(), replica_->MetricNames(),
                                     replica_->finisher().RegularizationLoss(replica_->parameters()));
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
  ReportEpoch(metrics, learning_rate);

  const std::map<std::string, double> values(metrics.begin(), metrics.end());
  RETURN_IF_ERROR(ApplyDecision(callbacks_->OnEpochEnd(position_.epoch(), values, learning_rate)));
  return SaveIfDue(checkpointer_->DueAfterEpoch(position_.epoch(), Done()));
}

absl::StatusOr<NamedValues> Trainer::Validate() {
  ASSIGN_OR_RETURN(const StepTotals totals, evaluator_->Run());
  return MetricValues(totals, replica_->MetricNames(),
                      replica_->finisher().RegularizationLoss(replica_->parameters()));
}

absl::Status Trainer::ApplyDecision(const EpochDecision& decision) {
  *position_.mutable_callbacks() = callbacks_->state();
  if (!decision.reason.empty()) listener_->OnMessage(decision.reason);
  if (decision.is_best) RETURN_IF_ERROR(checkpointer_->SaveBest(*replica_, position_));
  if (decision.early_stopping_improved && spec_.fit().early_stopping().restore_best_weights()) {
    if (best_parameters_.size() == 0) best_parameters_ = AlignedBuffer<float>(replica_->parameters().size());
    absl::c_copy(replica_->parameters(), best_parameters_.data());
  }
  stop_ = decision.stop;
  // As in Keras: at the end of training, whether it stopped early or not.
  if (Done() && best_parameters_.size() > 0)
    absl::c_copy(best_parameters_.span(), replica_->parameters().begin());
  return absl::OkStatus();
}

absl::Status Trainer::SaveIfDue(bool due) {
  if (!due) return absl::OkStatus();
  RETURN_IF_ERROR(CheckHashes(communicator_, replica_->Hash(), "parameters", replica_->step()));
  position_.clear_epoch_totals();
  if (position_.step_in_epoch() > 0) {
    for (const double value : meter_.totals().all()) position_.add_epoch_totals(value);
  }
  return checkpointer_->Save(*replica_, position_);
}

absl::Status Trainer::Finish() {
  summary_.set_state(v1::SUCCEEDED);
  summary_.set_epochs(position_.epoch());
  summary_.set_steps(replica_->step());
  summary_.set_world_size(communicator_->world_size());
  summary_.set_rows_per_second(train_seconds_ > 0 ? train_rows_ / train_seconds_ : 0);
  summary_.set_parameter_hash(HashToHex(replica_->ParameterHash()));
  RETURN_IF_ERROR(GatherRankStats());
  // A rank that leaves first must not look like a lost one to the others.
  return communicator_->Barrier();
}

absl::Status Trainer::GatherRankStats() {
  const CommunicatorStats now = communicator_->stats();
  stats_.set_rank(communicator_->rank());
  stats_.set_input_seconds(absl::ToDoubleSeconds(loader_->stats().waited));
  stats_.set_communication_seconds(absl::ToDoubleSeconds(now.busy - stats_before_.busy));
  const double exposed = absl::ToDoubleSeconds(now.exposed - stats_before_.exposed);
  stats_.set_exposed_communication_seconds(exposed);
  stats_.set_compute_seconds(std::max(0.0, train_seconds_ - stats_.input_seconds() - exposed));
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator_->AllGather(stats_.SerializeAsString()));
  for (const std::string& rank : all) summary_.add_ranks()->ParseFromString(rank);
  return absl::OkStatus();
}

void Trainer::ReportProgress(int64_t step_in_epoch) {
  if (communicator_->rank() != 0) return;
  const absl::Time now = absl::Now();
  v1::Progress progress;
  progress.set_epoch(position_.epoch() + 1);
  progress.set_step(step_in_epoch + 1);
  progress.set_steps_per_epoch(steps_per_epoch_);
  progress.set_global_step(replica_->step());
  progress.set_rows_per_second(meter_.RowsPerSecond(now));
  progress.set_eta_seconds(meter_.EtaSeconds(now));
  ToProto(MetricValues(meter_.totals(), replica_->MetricNames(), 0), progress.mutable_metrics());
  listener_->OnProgress(progress);
}

void Trainer::ReportEpoch(const NamedValues& metrics, double learning_rate) {
  const absl::Time now = absl::Now();
  v1::EpochEnd end;
  end.set_epoch(position_.epoch());
  end.set_epochs(spec_.fit().epochs());
  ToProto(metrics, end.mutable_metrics());
  end.set_seconds(meter_.Seconds(now));
  end.set_rows_per_second(meter_.RowsPerSecond(now));
  end.set_steps(steps_per_epoch_);
  end.set_learning_rate(learning_rate);
  end.set_parameter_hash(HashToHex(replica_->ParameterHash()));
  *summary_.mutable_metrics() = end.metrics();
  v1::JobSummary::EpochMetrics* epoch = summary_.add_history();
  epoch->set_epoch(position_.epoch());
  *epoch->mutable_metrics() = end.metrics();
  listener_->OnEpochEnd(end);
}

}  // namespace lockstep

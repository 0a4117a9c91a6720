#include "worker/sequential.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/status_macros.h"
#include "worker/checkpoint_store.h"
#include "worker/epoch_meter.h"
#include "worker/evaluator.h"
#include "worker/fit_start.h"
#include "worker/fit_state.h"
#include "worker/output_path.h"
#include "worker/predictor.h"
#include "worker/replica_state.h"
#include "worker/trainer.h"

namespace lockstep {
namespace {

FileSystem* FilesOf(const Strategy& strategy) {
  return strategy.options().file_system != nullptr ? strategy.options().file_system : FileSystem::Posix();
}

v1::JobSummary PassSummary(const Replica& replica, const Strategy& strategy, int64_t rows) {
  v1::JobSummary summary;
  summary.set_state(v1::SUCCEEDED);
  summary.set_world_size(strategy.world_size());
  summary.set_steps(replica.step());
  summary.set_parameter_hash(HashToHex(replica.ParameterHash()));
  summary.set_evaluated_rows(rows);
  return summary;
}

// What a pass over a dataset without training needs.
struct Pass {
  std::unique_ptr<BatchLoader> loader;
  int64_t steps = 0;
  int64_t total_rows = 0;  // of all ranks
};

absl::StatusOr<Pass> PreparePass(const v1::JobSpec& spec, std::shared_ptr<const Dataset> dataset,
                                 Replica* replica, Communicator* communicator) {
  RETURN_IF_ERROR(AgreeOnPass(spec, dataset, *replica, communicator));
  ASSIGN_OR_RETURN(LoaderPlan plan, PlanPass(spec, std::move(dataset), replica->loss(), communicator));
  ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(plan.sampler));
  ASSIGN_OR_RETURN(const int threads, IntraOpThreads(spec, communicator));
  RETURN_IF_ERROR(replica->network().Prepare(std::max<int64_t>(sampler.largest_share(), 1), threads));
  Pass pass;
  pass.total_rows = plan.total_rows;
  pass.steps = sampler.steps_per_epoch();
  ASSIGN_OR_RETURN(pass.loader, BatchLoader::Create(plan.dataset, std::move(sampler), plan.loader));
  return pass;
}

}  // namespace

void Sequential::Input(const std::vector<int64_t>& shape) {
  model_.mutable_input()->clear_shape();
  for (const int64_t size : shape) model_.mutable_input()->add_shape(size);
}

void Sequential::Add(const v1::Layer& layer) { *model_.add_layers() = layer; }

absl::Status Sequential::Compile(const v1::Compile& compile) {
  if (strategy_ == nullptr) {
    return absl::FailedPreconditionError(
        "the model was created outside of a strategy's scope, so its variables could not be mirrored: create "
        "it as "
        "Sequential model(scope) with Strategy::Scope scope = strategy.EnterScope()");
  }
  if (replica_ != nullptr) return absl::FailedPreconditionError("the model was compiled before");
  compile_ = compile;
  ASSIGN_OR_RETURN(replica_, Replica::Create(model_, compile_));
  return absl::OkStatus();
}

absl::Status Sequential::CheckCompiled() const {
  if (replica_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "call Compile, inside a strategy's scope, before training or evaluating");
}

absl::StatusOr<v1::JobSummary> Sequential::Fit(const TrainingData& data, const FitOptions& options) {
  v1::JobSpec spec;
  *spec.mutable_model() = model_;
  *spec.mutable_compile() = compile_;
  *spec.mutable_fit() = options.fit;
  *spec.mutable_threading() = options.threading;
  *spec.mutable_communication_options() = options.communication;
  *spec.mutable_checkpoint() = options.checkpoint;
  spec.set_initial_weights(options.initial_weights);
  spec.mutable_data()->mutable_train()->set_shuffle(options.shuffle);
  return Fit(data, spec);
}

absl::StatusOr<v1::JobSummary> Sequential::Fit(const TrainingData& data, const v1::JobSpec& spec) {
  FitState anew;
  return Fit(data, spec, &anew);
}

absl::StatusOr<v1::JobSummary> Sequential::Fit(const TrainingData& data, const v1::JobSpec& spec,
                                               FitState* state) {
  RETURN_IF_ERROR(CheckCompiled());
  if (data.train == nullptr)
    return absl::InvalidArgumentError("data.train: training rows are required for a fit");
  RETURN_IF_ERROR(CheckDatasetFits(data.train->info(), replica_->network().input_shape(), replica_->loss(),
                                   "data.train"));
  if (data.validation != nullptr) {
    RETURN_IF_ERROR(CheckDatasetFits(data.validation->info(), replica_->network().input_shape(),
                                     replica_->loss(), "data.validation"));
  }
  TrainerOptions options;
  options.data_root = strategy_->options().data_root;
  options.output_root = strategy_->options().output_root;
  options.file_system = FilesOf(*strategy_);
  options.listener = strategy_->options().listener;
  Trainer trainer(spec, data, replica_.get(), strategy_->communicator(), options, state);
  absl::StatusOr<v1::JobSummary> summary = trainer.Fit();
  strategy_->RecordError(summary.status());
  return summary;
}

absl::Status Sequential::LoadCheckpoint(const std::string& directory) {
  RETURN_IF_ERROR(CheckCompiled());
  if (strategy_->rank() == 0) {
    ASSIGN_OR_RETURN(const std::string path,
                     ResolveBelow(strategy_->options().output_root, directory, "checkpoint.directory"));
    std::vector<std::string> skipped;
    ASSIGN_OR_RETURN(const LoadedCheckpoint newest,
                     CheckpointStore::LoadNewestOf(FilesOf(*strategy_), path, &skipped));
    for (const std::string& reason : skipped) {
      if (strategy_->options().listener != nullptr)
        strategy_->options().listener->OnMessage(absl::StrCat("damaged checkpoint passed over: ", reason));
    }
    RETURN_IF_ERROR(RestoreParameters(newest, replica_.get()));
  }
  return BroadcastReplica(strategy_->communicator(), /*root=*/0, replica_.get());
}

absl::StatusOr<v1::JobSummary> Sequential::Evaluate(std::shared_ptr<const Dataset> dataset,
                                                    const v1::JobSpec& spec) {
  absl::StatusOr<v1::JobSummary> summary = EvaluateRows(std::move(dataset), spec);
  if (strategy_ != nullptr) strategy_->RecordError(summary.status());
  return summary;
}

absl::StatusOr<v1::JobSummary> Sequential::EvaluateRows(std::shared_ptr<const Dataset> dataset,
                                                        const v1::JobSpec& spec) {
  RETURN_IF_ERROR(CheckCompiled());
  RETURN_IF_ERROR(
      CheckDatasetFits(dataset->info(), replica_->network().input_shape(), replica_->loss(), "data"));
  ASSIGN_OR_RETURN(Pass pass, PreparePass(spec, dataset, replica_.get(), strategy_->communicator()));
  const int64_t rows = pass.total_rows;
  Evaluator evaluator(replica_.get(), strategy_->communicator(), std::move(pass.loader), pass.steps);
  ASSIGN_OR_RETURN(const StepTotals totals, evaluator.Run());
  v1::JobSummary summary = PassSummary(*replica_, *strategy_, rows);
  for (const auto& [name, value] :
       MetricValues(totals, replica_->MetricNames(),
                    replica_->finisher().RegularizationLoss(replica_->parameters()))) {
    v1::NamedValue* metric = summary.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  RETURN_IF_ERROR(strategy_->communicator()->Barrier());
  return summary;
}

absl::StatusOr<v1::JobSummary> Sequential::Predict(std::shared_ptr<const Dataset> dataset,
                                                   const v1::JobSpec& spec, const std::string& output) {
  absl::StatusOr<v1::JobSummary> summary = PredictRows(std::move(dataset), spec, output);
  if (strategy_ != nullptr) strategy_->RecordError(summary.status());
  return summary;
}

absl::StatusOr<v1::JobSummary> Sequential::PredictRows(std::shared_ptr<const Dataset> dataset,
                                                       const v1::JobSpec& spec, const std::string& output) {
  RETURN_IF_ERROR(CheckCompiled());
  RETURN_IF_ERROR(
      CheckDatasetFits(dataset->info(), replica_->network().input_shape(), replica_->loss(), "data"));
  std::string path;
  if (strategy_->rank() == 0) {
    ASSIGN_OR_RETURN(path, ResolveOutputFile(FilesOf(*strategy_), strategy_->options().output_root, output,
                                             "predict.output"));
  }
  ASSIGN_OR_RETURN(Pass pass, PreparePass(spec, dataset, replica_.get(), strategy_->communicator()));
  RETURN_IF_ERROR(WritePredictions(replica_.get(), strategy_->communicator(), pass.loader.get(), pass.steps,
                                   dataset->info().rows, FilesOf(*strategy_), path));
  RETURN_IF_ERROR(strategy_->communicator()->Barrier());
  return PassSummary(*replica_, *strategy_, dataset->info().rows);
}

}  // namespace lockstep

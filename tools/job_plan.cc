#include "tools/job_plan.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/path.h"
#include "base/status_macros.h"
#include "data/sampler.h"
#include "proto/job.pb.h"
#include "worker/compiled_model.h"
#include "worker/fit_plan.h"

namespace lockstep {
namespace {

// Without a batch, rows of one rank for which memory is told.
constexpr int64_t kDefaultShare = 32;

// Every output is kept for the backward pass; two gradients of outputs take turns.
int64_t ActivationBytes(const std::vector<LayerSummary>& layers, int64_t rows) {
  int64_t all = 0, largest = 0;
  for (const LayerSummary& layer : layers) {
    all += layer.activation_bytes_per_row;
    largest = std::max(largest, layer.activation_bytes_per_row);
  }
  return (all + 2 * largest) * rows;
}

MemoryPlan PlanMemory(const CompiledModel& model, const JobPlan& plan) {
  MemoryPlan memory;
  const int64_t buffer = model.network->layout().size() * static_cast<int64_t>(sizeof(float));
  memory.parameters = buffer;
  memory.gradients = buffer;
  for (const SlotSpec& slot : model.optimizer->slots()) memory.slot_names.push_back(slot.name);
  memory.slots = buffer * static_cast<int64_t>(memory.slot_names.size());
  memory.activations = ActivationBytes(plan.layers, plan.shares.empty() ? kDefaultShare : plan.shares[0]);
  return memory;
}

// The files may lie on the nodes only: no mistake of the job's.
bool IsOnlyMissingHere(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsPermissionDenied(status) || absl::IsUnavailable(status);
}

absl::Status FindWeights(const v1::JobSpec& spec, const std::string& data_root) {
  if (spec.initial_weights().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string path,
                   ResolveBelow(data_root, spec.initial_weights(), "initial_weights"));
  return FileSystem::Posix()->GetKind(path).status();
}

absl::Status PlanData(const TrainingData& data, const CompiledModel& model, JobPlan* plan) {
  const Shape& input = model.network->input_shape();
  if (data.train != nullptr) {
    plan->train = data.train->info();
    RETURN_IF_ERROR(CheckDatasetFits(*plan->train, input, *model.loss, "data.train"));
  }
  if (data.validation != nullptr) {
    plan->validation = data.validation->info();
    RETURN_IF_ERROR(CheckDatasetFits(*plan->validation, input, *model.loss, "data.validation"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> StepsPerEpoch(const v1::JobSpec& spec, const JobPlan& plan) {
  const v1::Dataset::Shard shard = spec.data().train().shard();
  if (!plan.train || plan.global_batch == 0 || shard == v1::Dataset::FILE) return 0;
  SamplerOptions options;
  options.rows = plan.train->rows;
  options.global_batch = plan.global_batch;
  options.world_size = static_cast<int>(plan.shares.size());
  options.policy = shard == v1::Dataset::OFF ? ShardPolicy::kOff : ShardPolicy::kData;
  options.steps_per_epoch = spec.fit().steps_per_epoch();
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create(options));
  return sampler.steps_per_epoch();
}

}  // namespace

absl::StatusOr<JobPlan> MakeJobPlan(const v1::JobSpec& spec, int workers, const std::string& data_root) {
  ASSIGN_OR_RETURN(const CompiledModel model, CompileModel(spec.model(), spec.compile()));
  JobPlan plan;
  plan.name = spec.name().empty() ? "job" : spec.name();
  plan.layers = model.network->Summary();
  for (const LayerSummary& layer : plan.layers) plan.parameters += layer.parameters;
  plan.epochs = spec.fit().epochs();
  plan.global_batch = GlobalBatch(spec.fit(), workers);
  if (plan.global_batch > 0) plan.shares = Shares(plan.global_batch, workers);
  plan.memory = PlanMemory(model, plan);

  plan.weights_status = FindWeights(spec, data_root);
  if (!plan.weights_status.ok() && !IsOnlyMissingHere(plan.weights_status)) return plan.weights_status;
  const absl::StatusOr<TrainingData> data = OpenTrainingData(spec, data_root);
  plan.data_status = data.status();
  if (!data.ok()) {
    if (IsOnlyMissingHere(data.status())) return plan;
    return data.status();
  }
  RETURN_IF_ERROR(PlanData(*data, model, &plan));
  ASSIGN_OR_RETURN(plan.steps_per_epoch, StepsPerEpoch(spec, plan));
  return plan;
}

}  // namespace lockstep

// What follows from a specification, the data and the number of ranks before anything runs: batch, steps,
// shares, and the loaders that yield them. The same on all ranks but for the shares.
#ifndef LOCKSTEP_WORKER_FIT_PLAN_H_
#define LOCKSTEP_WORKER_FIT_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/communicator.h"
#include "data/batch_loader.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "model/loss.h"

namespace lockstep {

namespace v1 {
class Dataset;
class Fit;
class JobSpec;
}  // namespace v1

// Datasets that are open. `validation` may be null.
struct TrainingData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;
};

// Opens what the specification's `data` names, below `data_root`, and splits off the validation rows if it
// says so. Errors: INVALID_ARGUMENT, NOT_FOUND, DATA_LOSS naming field, file and place.
absl::StatusOr<TrainingData> OpenTrainingData(const v1::JobSpec& spec, const std::string& data_root);

// What a pass without training reads: the validation data, or the training data without it.
const v1::Dataset& PassSource(const v1::JobSpec& spec);

// Rows per step over all ranks.
int64_t GlobalBatch(const v1::Fit& fit, int world_size);

// Rows of each rank in a full step of `global_batch` rows.
std::vector<int64_t> Shares(int64_t global_batch, int world_size);

// Collective. Threads of one product or loop: what the specification says, or else the processors this
// process may use divided by the ranks on its host.
absl::StatusOr<int> IntraOpThreads(const v1::JobSpec& spec, Communicator* communicator);

struct LoaderPlan {
  SamplerOptions sampler;
  BatchLoaderOptions loader;
  std::shared_ptr<const Dataset> dataset;
  int64_t total_rows = 0;  // of all ranks together, each row once
};

// For training. Collective with `shard: FILE`, where the ranks tell each other their rows.
absl::StatusOr<LoaderPlan> PlanTraining(const v1::JobSpec& spec, std::shared_ptr<const Dataset> dataset,
                                        const Loss& loss, uint64_t seed, Communicator* communicator);

// Which rows each step of an epoch takes, in words: two jobs with the same text and seed go through the same
// rows in the same steps.
std::string DescribeDataOrder(const SamplerOptions& order);

// For one pass in order over the validation rows. Collective with `shard: FILE`.
absl::StatusOr<LoaderPlan> PlanPass(const v1::JobSpec& spec, std::shared_ptr<const Dataset> dataset,
                                    const Loss& loss, Communicator* communicator);

// OK, or INVALID_ARGUMENT with both shapes: rows of the dataset do not fit the model's input or the loss's
// labels.
absl::Status CheckDatasetFits(const DatasetInfo& info, const std::vector<int64_t>& input_shape,
                              const Loss& loss, absl::string_view field);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_FIT_PLAN_H_

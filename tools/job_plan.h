// What a job will be like, before it runs: layers, memory, data, steps. Made without a cluster.
#ifndef LOCKSTEP_TOOLS_JOB_PLAN_H_
#define LOCKSTEP_TOOLS_JOB_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "model/network.h"

namespace lockstep {

namespace v1 {
class JobSpec;
}  // namespace v1

// Bytes on one rank, at the largest share of a step. Activations and batches are estimates.
struct MemoryPlan {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t slots = 0;
  std::vector<std::string> slot_names;
  int64_t activations = 0;

  int64_t total() const { return parameters + gradients + slots + activations; }
};

struct JobPlan {
  std::string name;
  std::vector<LayerSummary> layers;
  int64_t parameters = 0;  // elements
  MemoryPlan memory;
  int64_t epochs = 0;
  int64_t global_batch = 0;     // 0: the job does not train and leaves it to the default
  std::vector<int64_t> shares;  // of the ranks, in a full step

  // OK if the files could be opened; else why not. They may only be missing on this machine.
  absl::Status data_status;
  absl::Status weights_status;  // the same of initial_weights, which are looked for and not opened
  std::optional<DatasetInfo> train, validation;
  int64_t steps_per_epoch = 0;  // 0: not known before the job runs (no data here, or shard: FILE)
};

// `spec` has passed CheckJob. `data_root` empty: the working directory.
// Errors: INVALID_ARGUMENT, DATA_LOSS: what is wrong with the data, or does not fit the model.
absl::StatusOr<JobPlan> MakeJobPlan(const v1::JobSpec& spec, int workers, const std::string& data_root);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JOB_PLAN_H_

// TF_CONFIG: the JSON text in the environment that tells every process of a cluster who the others are and
// which one it is. One process runs on each entry of `cluster`; they differ in `task` alone.
//
//   {"cluster": {"chief": ["a:5300"], "worker": ["b:5300", "c:5300"]}, "task": {"type": "worker", "index":
//   0}}
//
// Ranks: the chief (or `master`, its older name) first, then the workers; without a chief, worker 0 is the
// chief. A list may also be a map from index to address, in which indices may be left out. `ps` and
// `evaluator` lists are checked but take no part. Unknown keys are ignored, except the names of lists.
#ifndef LOCKSTEP_WORKER_TF_CONFIG_H_
#define LOCKSTEP_WORKER_TF_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

struct ClusterConfig {
  std::vector<std::string> addresses;  // by rank, host:port as written
  std::vector<std::string> names;      // by rank, for messages: "chief:0", "worker:1"
  int rank = 0;                        // of this process
  std::string task_type;               // of this process, as written
  int task_index = 0;                  // of this process, as written
  // False: TF_CONFIG is unset or blank. This process is a cluster of one; its address is 127.0.0.1:0,
  // where port 0 stands for whatever the daemon is told by flags.
  bool from_environment = false;

  int world_size() const { return static_cast<int>(addresses.size()); }

  // Of the addresses in rank order: equal on all ranks if they were given the same cluster.
  uint64_t Hash() const;
};

// Never falls back to one worker because of a mistake in `json`.
// Errors:
//   INVALID_ARGUMENT: in one line, what is wrong at which JSON path (cluster.worker[1], task.index), and
//     the valid choices.
absl::StatusOr<ClusterConfig> ParseTfConfig(absl::string_view json);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_TF_CONFIG_H_

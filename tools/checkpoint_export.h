// The model of a checkpoint as one file for other programs.
#ifndef LOCKSTEP_TOOLS_CHECKPOINT_EXPORT_H_
#define LOCKSTEP_TOOLS_CHECKPOINT_EXPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep {

enum class WhichCheckpoint { kNewest, kBest };

struct ExportResult {
  std::string checkpoint;  // that was exported
  int64_t step = 0;
  int64_t tensors = 0;
  int64_t elements = 0;
  std::vector<std::string> skipped;  // damaged checkpoints, each with its reason
};

// Writes the model of the checkpoint in `directory` to `output`, whose ending names the format: .safetensors
// or .npz. The file is replaced at once. Errors: INVALID_ARGUMENT another ending; those of
// CheckpointStore::LoadNewest and of writing.
absl::StatusOr<ExportResult> ExportCheckpoint(const std::string& directory, WhichCheckpoint which,
                                              const std::string& output);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_CHECKPOINT_EXPORT_H_

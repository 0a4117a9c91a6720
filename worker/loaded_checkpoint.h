// A checkpoint directory that was found whole: its manifest, and its tensors on demand.
#ifndef LOCKSTEP_WORKER_LOADED_CHECKPOINT_H_
#define LOCKSTEP_WORKER_LOADED_CHECKPOINT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "worker/named_tensor.h"
#include "worker/safetensors_reader.h"

namespace lockstep {

namespace v1 {
class CheckpointManifest;
}

class LoadedCheckpoint {
 public:
  // Checks the manifest and each file (size and CRC-32C), reading all of them once, and keeps the tensor
  // files open: what is read later is what was checked, even if the directory is removed meanwhile.
  // Errors:
  //   DATA_LOSS: damaged; names the file and what is wrong with it.
  //   NOT_FOUND: no such directory.
  //   FAILED_PRECONDITION: written in a format of another version.
  static absl::StatusOr<LoadedCheckpoint> Load(FileSystem* files, const std::string& path);

  LoadedCheckpoint(LoadedCheckpoint&&) noexcept;
  LoadedCheckpoint& operator=(LoadedCheckpoint&&) noexcept;
  ~LoadedCheckpoint();

  const std::string& path() const { return path_; }
  const v1::CheckpointManifest& manifest() const { return *manifest_; }
  const SafetensorsReader& model() const { return model_; }
  const SafetensorsReader& optimizer() const { return optimizer_; }

  // Fill all parameters of the model, or all tensors of the optimizer. See SafetensorsReader::ReadAll:
  // "dense/kernel: PATH has [20, 32], the model has [20, 64]".
  absl::Status ReadModel(absl::Span<const TensorDestination> destinations) const;
  absl::Status ReadOptimizer(absl::Span<const TensorDestination> destinations) const;

 private:
  LoadedCheckpoint(std::string path, std::unique_ptr<v1::CheckpointManifest> manifest,
                   SafetensorsReader model, SafetensorsReader optimizer);

  std::string path_;
  std::unique_ptr<v1::CheckpointManifest> manifest_;
  SafetensorsReader model_;
  SafetensorsReader optimizer_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_LOADED_CHECKPOINT_H_

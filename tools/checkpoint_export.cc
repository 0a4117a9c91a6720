#include "tools/checkpoint_export.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"
#include "proto/checkpoint.pb.h"
#include "tools/npz_writer.h"
#include "worker/checkpoint_store.h"
#include "worker/loaded_checkpoint.h"
#include "worker/safetensors_writer.h"

namespace lockstep {
namespace {

// All tensors of a model in one allocation each.
struct Tensors {
  std::vector<std::vector<float>> values;
  std::vector<NamedTensor> views;
};

absl::StatusOr<Tensors> ReadTensors(const LoadedCheckpoint& checkpoint) {
  Tensors tensors;
  std::vector<TensorDestination> destinations;
  for (const SafetensorsEntry& entry : checkpoint.model().entries()) {
    // The reader has checked that the file is as long as this says.
    tensors.values.emplace_back((entry.end - entry.begin) / sizeof(float));
    destinations.push_back({entry.name, entry.shape, absl::MakeSpan(tensors.values.back())});
  }
  RETURN_IF_ERROR(checkpoint.ReadModel(destinations));
  for (const TensorDestination& tensor : destinations)
    tensors.views.push_back({tensor.name, tensor.shape, tensor.values});
  return tensors;
}

absl::Status WriteSafetensorsFile(const Tensors& tensors, const std::string& path) {
  FileSystem* files = FileSystem::Posix();
  const std::string temporary = absl::StrCat(path, ".tmp");
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files->CreateFile(temporary));
  absl::Status status = WriteSafetensors(tensors.views, {}, file.get());
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = file->Close();
  if (status.ok()) status = files->Rename(temporary, path);
  if (!status.ok()) files->RemoveFile(temporary).IgnoreError();
  return status;
}

absl::StatusOr<LoadedCheckpoint> Load(const std::string& directory, WhichCheckpoint which,
                                      std::vector<std::string>* skipped) {
  FileSystem* files = FileSystem::Posix();
  if (which == WhichCheckpoint::kBest) return LoadedCheckpoint::Load(files, absl::StrCat(directory, "/best"));
  return CheckpointStore::LoadNewestOf(files, directory, skipped);
}

}  // namespace

absl::StatusOr<ExportResult> ExportCheckpoint(const std::string& directory, WhichCheckpoint which,
                                              const std::string& output) {
  const bool npz = absl::EndsWith(output, ".npz");
  if (!npz && !absl::EndsWith(output, ".safetensors")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output ", output, ": must end in .safetensors or .npz, which names the format"));
  }
  const std::string directory_of_output = ParentDirectory(output);
  const absl::StatusOr<FileSystem::Kind> kind = FileSystem::Posix()->GetKind(directory_of_output);
  if (!kind.ok() || *kind != FileSystem::Kind::kDirectory) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output ", output, ": ", directory_of_output, " is no directory"));
  }
  const absl::StatusOr<FileSystem::Kind> there = FileSystem::Posix()->GetKind(output);
  if (there.ok() && *there == FileSystem::Kind::kDirectory)
    return absl::InvalidArgumentError(absl::StrCat("--output ", output, ": is a directory"));
  ExportResult result;
  ASSIGN_OR_RETURN(const LoadedCheckpoint checkpoint, Load(directory, which, &result.skipped));
  ASSIGN_OR_RETURN(const Tensors tensors, ReadTensors(checkpoint));
  RETURN_IF_ERROR(npz ? WriteNpz(tensors.views, output) : WriteSafetensorsFile(tensors, output));
  result.checkpoint = checkpoint.path();
  result.step = checkpoint.manifest().step();
  result.tensors = static_cast<int64_t>(tensors.views.size());
  for (const NamedTensor& tensor : tensors.views)
    result.elements += static_cast<int64_t>(tensor.values.size());
  return result;
}

}  // namespace lockstep

#include "worker/loaded_checkpoint.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/crc32c.h"
#include "base/file_utilities.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "proto/checkpoint.pb.h"
#include "worker/checkpoint_format.h"

namespace lockstep {
namespace {

absl::StatusOr<uint32_t> ChecksumOfFile(FileSystem* files, const std::string& path, int64_t* bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files->OpenFile(path));
  *bytes = file->size();
  std::vector<char> block(static_cast<size_t>(std::min(file->size(), int64_t{1} << 20)));
  uint32_t crc32c = 0;
  for (int64_t at = 0; at < file->size(); at += static_cast<int64_t>(block.size())) {
    block.resize(static_cast<size_t>(std::min(file->size() - at, int64_t{1} << 20)));
    RETURN_IF_ERROR(file->Read(at, absl::MakeSpan(block)));
    crc32c = Crc32c(block.data(), block.size(), crc32c);
  }
  return crc32c;
}

absl::Status CheckFile(FileSystem* files, const std::string& directory,
                       const v1::CheckpointManifest::File& expected) {
  const std::string path = absl::StrCat(directory, "/", expected.name());
  int64_t bytes = 0;
  ASSIGN_OR_RETURN(const uint32_t crc32c, ChecksumOfFile(files, path, &bytes));
  if (bytes != expected.bytes()) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", bytes, " bytes, the manifest says ", expected.bytes()));
  }
  if (crc32c == expected.crc32c()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrFormat("%s has the CRC-32C %08x, the manifest says %08x", path, crc32c, expected.crc32c()));
}

absl::Status CheckFiles(FileSystem* files, const std::string& directory,
                        const v1::CheckpointManifest& manifest) {
  std::vector<std::string> names;
  for (const v1::CheckpointManifest::File& file : manifest.files()) names.push_back(file.name());
  std::sort(names.begin(), names.end());
  // Also keeps a foreign manifest from naming files elsewhere.
  if (names != std::vector<std::string>{kModelFile, kOptimizerFile}) {
    return absl::DataLossError(
        absl::StrCat(directory, "/", kManifestFile, " does not list exactly the files of a checkpoint"));
  }
  for (const v1::CheckpointManifest::File& file : manifest.files()) {
    RETURN_IF_ERROR(CheckFile(files, directory, file));
  }
  return absl::OkStatus();
}

absl::Status CheckManifestText(FileSystem* files, const std::string& path, absl::string_view text) {
  const std::string checksum_path = absl::StrCat(path, ".crc32c");
  ASSIGN_OR_RETURN(const std::string expected, ReadWholeFile(files, checksum_path, /*most_bytes=*/64));
  const std::string actual = absl::StrFormat("%08x\n", Crc32c(text.data(), text.size()));
  if (actual == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat("%s has the CRC-32C %s, %s says %s", path,
                                             Quoted(actual.substr(0, 8)), checksum_path, Quoted(expected)));
}

absl::Status CheckVersion(const std::string& path, const v1::CheckpointManifest& manifest) {
  if (manifest.format_version() == kCheckpointFormatVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, " has the format version ",
                                                    manifest.format_version(), ", this program reads ",
                                                    kCheckpointFormatVersion));
}

absl::StatusOr<std::unique_ptr<v1::CheckpointManifest>> LoadManifest(FileSystem* files,
                                                                     const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(files, path, kMostManifestBytes));
  RETURN_IF_ERROR(CheckManifestText(files, path, text));
  auto manifest = std::make_unique<v1::CheckpointManifest>();
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of later versions that this one can read
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, manifest.get(), options);
  if (!parsed.ok()) {
    return absl::DataLossError(
        absl::StrCat(path, " is not a manifest: ", Quoted(std::string(parsed.message()))));
  }
  RETURN_IF_ERROR(CheckVersion(path, *manifest));
  return manifest;
}

// A file that is missing where the directory is not is damage.
absl::Status AsDamage(const absl::Status& status) {
  if (!absl::IsNotFound(status) && !absl::IsOutOfRange(status)) return status;
  return absl::DataLossError(status.message());
}

}  // namespace

absl::StatusOr<LoadedCheckpoint> LoadedCheckpoint::Load(FileSystem* files, const std::string& path) {
  RETURN_IF_ERROR(files->ListDirectory(path).status());
  absl::StatusOr<std::unique_ptr<v1::CheckpointManifest>> manifest =
      LoadManifest(files, absl::StrCat(path, "/", kManifestFile));
  if (!manifest.ok()) return AsDamage(manifest.status());
  // Opened before they are checked, so that both look at the same files.
  absl::StatusOr<SafetensorsReader> model =
      SafetensorsReader::Open(files, absl::StrCat(path, "/", kModelFile));
  if (!model.ok()) return AsDamage(model.status());
  absl::StatusOr<SafetensorsReader> optimizer =
      SafetensorsReader::Open(files, absl::StrCat(path, "/", kOptimizerFile));
  if (!optimizer.ok()) return AsDamage(optimizer.status());
  if (absl::Status status = CheckFiles(files, path, **manifest); !status.ok()) return AsDamage(status);
  return LoadedCheckpoint(path, *std::move(manifest), *std::move(model), *std::move(optimizer));
}

LoadedCheckpoint::LoadedCheckpoint(std::string path, std::unique_ptr<v1::CheckpointManifest> manifest,
                                   SafetensorsReader model, SafetensorsReader optimizer)
    : path_(std::move(path)),
      manifest_(std::move(manifest)),
      model_(std::move(model)),
      optimizer_(std::move(optimizer)) {}

LoadedCheckpoint::LoadedCheckpoint(LoadedCheckpoint&&) noexcept = default;
LoadedCheckpoint& LoadedCheckpoint::operator=(LoadedCheckpoint&&) noexcept = default;
LoadedCheckpoint::~LoadedCheckpoint() = default;

absl::Status LoadedCheckpoint::ReadModel(absl::Span<const TensorDestination> destinations) const {
  return model_.ReadAll(destinations, "the model");
}

absl::Status LoadedCheckpoint::ReadOptimizer(absl::Span<const TensorDestination> destinations) const {
  return optimizer_.ReadAll(destinations, "the optimizer");
}

}  // namespace lockstep

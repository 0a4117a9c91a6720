// Names in a checkpoint directory; worker/checkpoint_store.h has the picture.
#ifndef LOCKSTEP_WORKER_CHECKPOINT_FORMAT_H_
#define LOCKSTEP_WORKER_CHECKPOINT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

constexpr int kCheckpointFormatVersion = 1;

constexpr char kModelFile[] = "model.safetensors";
constexpr char kOptimizerFile[] = "optimizer.safetensors";
constexpr char kManifestFile[] = "manifest.json";
// 8 hexadecimal digits: the CRC-32C of manifest.json, as the manifest has those of the other files.
constexpr char kManifestChecksumFile[] = "manifest.json.crc32c";
constexpr int64_t kMostManifestBytes = int64_t{16} << 20;

constexpr char kLatestFile[] = "latest";
constexpr char kBestDirectory[] = "best";
constexpr char kTemporaryPrefix[] = ".tmp-";  // unfinished, or on its way to be removed
constexpr char kAsidePrefix[] = ".old-";      // whole; stands aside while its successor takes the name

// "step-000000000812". Names of steps below 10^12 sort as their numbers do.
std::string StepDirectory(int64_t step);

// The step of such a name; empty for any other.
std::optional<int64_t> StepOfDirectory(absl::string_view name);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHECKPOINT_FORMAT_H_

// Reads tensors from a file in the safetensors format (worker/safetensors_header.h), written by us or by
// other programs. Thread-safe.
#ifndef LOCKSTEP_WORKER_SAFETENSORS_READER_H_
#define LOCKSTEP_WORKER_SAFETENSORS_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/readable_file.h"
#include "worker/named_tensor.h"
#include "worker/safetensors_header.h"

namespace lockstep {

class SafetensorsReader {
 public:
  // Reads and checks the header; the values are read only when asked for. Keeps the file open.
  // Errors: DATA_LOSS: not a whole safetensors file; those of FileSystem::OpenFile. All name the path.
  static absl::StatusOr<SafetensorsReader> Open(FileSystem* files, const std::string& path);

  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  // Null if there is none.
  const SafetensorsEntry* Find(const std::string& name) const;

  // Fills all destinations. They must be the tensors of the file, no more and no fewer, in any order.
  // `what` says what the destinations are, for messages: "the model".
  // Errors:
  //   FAILED_PRECONDITION: a tensor missing on either side; another shape ("dense/kernel: PATH has [20, 32],
  //     the model has [20, 64]"); a dtype other than F32. Nothing was read then.
  //   INVALID_ARGUMENT: a destination whose values do not match its shape.
  absl::Status ReadAll(absl::Span<const TensorDestination> destinations, const std::string& what) const;

 private:
  SafetensorsReader(std::unique_ptr<ReadableFile> file, std::string path, int64_t data_offset,
                    SafetensorsHeader header);

  absl::Status CheckDestination(const TensorDestination& destination, const std::string& what) const;

  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  int64_t data_offset_;
  SafetensorsHeader header_;
  std::map<std::string, size_t> index_by_name_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_SAFETENSORS_READER_H_

// Writes a float32 array to a .npy file, version 1.0, C order: rows are appended, the name appears when it is
// whole. Source: numpy.lib.format. One-thread.
#ifndef LOCKSTEP_WORKER_NPY_WRITER_H_
#define LOCKSTEP_WORKER_NPY_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace lockstep {

class NpyWriter {
 public:
  // `shape` includes the number of rows. Writes beside `path` until Finish.
  static absl::StatusOr<std::unique_ptr<NpyWriter>> Create(FileSystem* files, const std::string& path,
                                                           const std::vector<int64_t>& shape);
  // Removes what was written unless Finish succeeded.
  ~NpyWriter();

  // Little-endian float32 values of the next rows.
  absl::Status Append(absl::string_view bytes);

  // Makes the file durable under its name. INTERNAL: fewer or more rows were appended than the shape has.
  absl::Status Finish();

 private:
  NpyWriter(FileSystem* files, const std::string& path, int64_t bytes);

  FileSystem* const files_;
  const std::string path_;
  const std::string temporary_path_;
  int64_t bytes_left_;
  std::unique_ptr<WritableFile> file_;
  bool finished_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_NPY_WRITER_H_

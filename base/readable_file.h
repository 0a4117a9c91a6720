// A file that is read at any offset. Thread-safe.
#ifndef LOCKSTEP_BASE_READABLE_FILE_H_
#define LOCKSTEP_BASE_READABLE_FILE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace lockstep {

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  // In bytes, when it was opened.
  virtual int64_t size() const = 0;

  // Fills all of `out` with the bytes from `offset` on.
  // Errors:
  //   DATA_LOSS: the file ends before `offset + out.size()`.
  virtual absl::Status Read(int64_t offset, absl::Span<char> out) const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_READABLE_FILE_H_

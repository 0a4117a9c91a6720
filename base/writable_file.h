// A file that is being written from its beginning to its end. One thread at a time.
#ifndef LOCKSTEP_BASE_WRITABLE_FILE_H_
#define LOCKSTEP_BASE_WRITABLE_FILE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lockstep {

class WritableFile {
 public:
  // Closes the file if it still is open. Data that was not synced may be lost.
  virtual ~WritableFile() = default;

  // Writes all of `bytes` behind what is there. After an error the file's end is unspecified.
  virtual absl::Status Append(absl::string_view bytes) = 0;

  // Returns once all that was appended would survive a loss of power. The file's NAME survives only after
  // FileSystem::SyncDirectory of its parent.
  virtual absl::Status Sync() = 0;

  // Reports errors that a destructor could not. Nothing may be called afterwards.
  virtual absl::Status Close() = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_WRITABLE_FILE_H_

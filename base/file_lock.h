// A lock between processes: held while the object lives, and given up by the system if the process dies.
#ifndef LOCKSTEP_BASE_FILE_LOCK_H_
#define LOCKSTEP_BASE_FILE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep {

class FileLock {
 public:
  // Of a file or directory that is there; leaves no trace in it. Does not wait.
  // FAILED_PRECONDITION: another process, or another lock of this one, has it. Other errors as of the system.
  static absl::StatusOr<std::unique_ptr<FileLock>> Acquire(const std::string& path);

  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_FILE_LOCK_H_

#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Acquire(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return std::unique_ptr<FileLock>(new FileLock(fd));
  const int error = errno;
  close(fd);
  if (error == EWOULDBLOCK)
    return absl::FailedPreconditionError(absl::StrCat(path, " is held by another process or job"));
  return absl::ErrnoToStatus(error, absl::StrCat("cannot lock ", path));
}

FileLock::~FileLock() { close(fd_); }

}  // namespace lockstep

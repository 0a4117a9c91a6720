#include "base/read_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

bool IsStream(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode));
}

absl::StatusOr<std::string> ReadStream(int fd, const std::string& name, size_t most_bytes) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t bytes = read(fd, buffer.data(), buffer.size());
    if (bytes == 0) return text;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
    text.append(buffer.data(), static_cast<size_t>(bytes));
    if (text.size() > most_bytes)
      return absl::OutOfRangeError(absl::StrCat(name, " has more than ", most_bytes, " bytes"));
  }
}

absl::StatusOr<std::string> ReadStreamFile(const std::string& path, size_t most_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  absl::StatusOr<std::string> text = ReadStream(fd, path, most_bytes);
  close(fd);
  return text;
}

}  // namespace lockstep

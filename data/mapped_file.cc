#include "data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

absl::Status SystemError(const std::string& name, const std::string& path, const char* operation) {
  const int error = errno;
  const std::string message =
      absl::StrCat("file ", name, " (", path, "): ", operation, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

class MappedBytes : public Bytes {
 public:
  MappedBytes(std::shared_ptr<const FileDescriptor> file, absl::Span<const std::byte> bytes, std::string name)
      : Bytes(bytes, file), file_(std::move(file)), name_(std::move(name)) {}
  ~MappedBytes() override {
    if (size() > 0) munmap(const_cast<std::byte*>(data()), size());
  }

  absl::Status CheckIntact() const override {
    struct stat status;
    if (fstat(file_->get(), &status) != 0) return SystemError(name_, "open file", "stat");
    if (static_cast<uint64_t>(status.st_size) >= size()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("file ", name_, " shrank from ", size(), " to ", status.st_size,
                                            " bytes while in use; replace files by renaming"));
  }

 private:
  const std::shared_ptr<const FileDescriptor> file_;
  const std::string name_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Bytes>> MapFile(const std::string& path, const std::string& name) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  auto file = std::make_shared<const FileDescriptor>(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file->get() < 0) return SystemError(name, path, "open");
  struct stat status;
  if (fstat(file->get(), &status) != 0) return SystemError(name, path, "stat");
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("file ", name, " (", path, ") is not a regular file"));
  }
  const size_t size = static_cast<size_t>(status.st_size);
  const std::byte* data = nullptr;
  if (size > 0) {
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->get(), 0);
    if (mapped == MAP_FAILED) return SystemError(name, path, "mmap");
    data = static_cast<const std::byte*>(mapped);
  }
  return std::make_shared<const MappedBytes>(std::move(file), absl::MakeConstSpan(data, size), name);
}

}  // namespace lockstep

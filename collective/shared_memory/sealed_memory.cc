#include "collective/shared_memory/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/physical_memory.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status SystemError(absl::string_view what, size_t bytes, int error) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " ", bytes, " bytes of shared memory: ", std::strerror(error)));
}

absl::StatusOr<std::byte*> MapShared(int fd, size_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (data == MAP_FAILED) return SystemError("mapping", bytes, errno);
  return static_cast<std::byte*>(data);
}

}  // namespace

absl::StatusOr<SealedMemory> SealedMemory::Create(size_t bytes) {
  if (bytes == 0) return absl::InvalidArgumentError("shared memory of 0 bytes");
  // Without this the system would look for pages until it has to kill somebody.
  const auto most = static_cast<size_t>(PhysicalMemoryBytes());
  if (bytes > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("shared memory of ", bytes, " bytes; this machine has ", most));
  }
  FileDescriptor fd(memfd_create("lockstep", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return SystemError("creating", bytes, errno);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return SystemError("sizing", bytes, errno);
  if (const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)); error != 0)
    return SystemError("allocating", bytes, error);
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return SystemError("sealing", bytes, errno);
  ASSIGN_OR_RETURN(std::byte* const data, MapShared(fd.get(), bytes));
  return SealedMemory(data, bytes, std::move(fd));
}

absl::StatusOr<SealedMemory> SealedMemory::Map(const FileDescriptor& fd, size_t bytes) {
  struct stat file;
  if (fstat(fd.get(), &file) != 0) return SystemError("examining", bytes, errno);
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (static_cast<size_t>(file.st_size) != bytes || seals < 0 || (seals & kSeals) != kSeals) {
    return absl::InvalidArgumentError(absl::StrCat("shared memory of ", file.st_size, " bytes with seals ",
                                                   seals, "; expected ", bytes, " bytes and seals ", kSeals));
  }
  ASSIGN_OR_RETURN(std::byte* const data, MapShared(fd.get(), bytes));
  return SealedMemory(data, bytes, FileDescriptor());
}

SealedMemory::~SealedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::move(other.fd_)) {}

SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace lockstep

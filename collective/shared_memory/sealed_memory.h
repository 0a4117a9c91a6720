// Memory that several processes map: a memfd, which has no name in the file system and is gone with the last
// process that maps it, however that ends. Its size is sealed, so that no process can pull pages away from
// under another. Move-only.
#ifndef LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SEALED_MEMORY_H_
#define LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SEALED_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_descriptor.h"

namespace lockstep {

class SealedMemory {
 public:
  // Zero-filled, with every page in place: the first touch of a shared page is 50 times slower than later
  // ones (docs/performance.md), and a page that cannot be had is an error here, not a signal later.
  // Errors: INVALID_ARGUMENT for no bytes; RESOURCE_EXHAUSTED.
  static absl::StatusOr<SealedMemory> Create(size_t bytes);

  // Maps what another process has created with as many bytes.
  // Errors: INVALID_ARGUMENT if the size or the seals are not what they should be; RESOURCE_EXHAUSTED.
  static absl::StatusOr<SealedMemory> Map(const FileDescriptor& fd, size_t bytes);

  SealedMemory() = default;
  ~SealedMemory();
  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;

  absl::Span<std::byte> bytes() const { return {data_, size_}; }

  // To be passed to other processes; none in a mapping of another's. May be closed when all have it.
  const FileDescriptor& fd() const { return fd_; }
  void CloseDescriptor() { fd_.Reset(); }

 private:
  SealedMemory(std::byte* data, size_t size, FileDescriptor fd)
      : data_(data), size_(size), fd_(std::move(fd)) {}

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  FileDescriptor fd_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SHARED_MEMORY_SEALED_MEMORY_H_

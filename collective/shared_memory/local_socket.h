// Connections between processes of one host that can pass file descriptors: unix-domain sockets with abstract
// names, which leave nothing in the file system and are seen within one network namespace only. A message is
// received whole or not at all. Move-only.
#ifndef LOCKSTEP_COLLECTIVE_SHARED_MEMORY_LOCAL_SOCKET_H_
#define LOCKSTEP_COLLECTIVE_SHARED_MEMORY_LOCAL_SOCKET_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/file_descriptor.h"

namespace lockstep {

struct LocalMessage {
  std::string bytes;
  FileDescriptor fd;  // none if none was passed
};

class LocalSocket {
 public:
  static constexpr size_t kMostMessageBytes = 4096;

  // UNAVAILABLE: nobody listens under the name, in this network namespace.
  static absl::StatusOr<LocalSocket> Connect(const std::string& name);

  LocalSocket() = default;
  explicit LocalSocket(FileDescriptor fd) : fd_(std::move(fd)) {}

  // Errors: UNAVAILABLE if the other end is gone, or reads nothing.
  absl::Status Send(absl::string_view bytes, const FileDescriptor& fd);

  // Errors: UNAVAILABLE if the other end is gone; DEADLINE_EXCEEDED; INVALID_ARGUMENT for a message longer
  // than kMostMessageBytes or with more than one descriptor.
  absl::StatusOr<LocalMessage> Receive(absl::Time deadline);

 private:
  FileDescriptor fd_;
};

class LocalListener {
 public:
  // Under a random name.
  static absl::StatusOr<LocalListener> Open();

  const std::string& name() const { return name_; }
  absl::StatusOr<LocalSocket> Accept(absl::Time deadline);

 private:
  LocalListener(FileDescriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  FileDescriptor fd_;
  std::string name_;
};

// 128 random bits in hexadecimal digits.
std::string RandomToken();

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SHARED_MEMORY_LOCAL_SOCKET_H_

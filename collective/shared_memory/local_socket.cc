#include "collective/shared_memory/local_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/abstract_address.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// Sequenced packets: reliable, in order, with boundaries, and an end that is noticed.
constexpr int kType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

absl::Status SystemError(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

absl::Status AwaitReadable(int fd, absl::Time deadline) {
  while (true) {
    pollfd wanted{fd, POLLIN, 0};
    // Rounded up: a deadline that is almost over must not become a busy loop.
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now()) + 1;
    const int ready = poll(&wanted, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1000)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return SystemError("waiting for a local socket", errno);
    if (absl::Now() >= deadline) return absl::DeadlineExceededError("nothing came on a local socket");
  }
}

}  // namespace

absl::StatusOr<LocalSocket> LocalSocket::Connect(const std::string& name) {
  FileDescriptor fd(socket(AF_UNIX, kType, 0));
  if (!fd.valid()) return SystemError("making a local socket", errno);
  const AbstractAddress address(name);
  if (connect(fd.get(), address.get(), address.size()) != 0)
    return SystemError("connecting to a local socket", errno);
  return LocalSocket(std::move(fd));
}

absl::Status LocalSocket::Send(absl::string_view bytes, const FileDescriptor& fd) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd.valid()) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = fd.get();
    std::memcpy(CMSG_DATA(header), &number, sizeof(number));
  }
  ssize_t sent;
  do {
    sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return SystemError("sending on a local socket", errno);
  return absl::OkStatus();
}

absl::StatusOr<LocalMessage> LocalSocket::Receive(absl::Time deadline) {
  RETURN_IF_ERROR(AwaitReadable(fd_.get(), deadline));
  LocalMessage received;
  received.bytes.resize(kMostMessageBytes);
  iovec part{received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t size = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return SystemError("receiving on a local socket", errno);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int number;
    std::memcpy(&number, CMSG_DATA(header), sizeof(number));
    received.fd = FileDescriptor(number);
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return absl::InvalidArgumentError("a message on a local socket is longer than any of ours");
  }
  if (size == 0) return absl::UnavailableError("the other end of a local socket was closed");
  received.bytes.resize(size);
  return received;
}

absl::StatusOr<LocalListener> LocalListener::Open() {
  FileDescriptor fd(socket(AF_UNIX, kType, 0));
  if (!fd.valid()) return SystemError("making a local socket", errno);
  std::string name = absl::StrCat("lockstep-", RandomToken());
  const AbstractAddress address(name);
  if (bind(fd.get(), address.get(), address.size()) != 0 || listen(fd.get(), SOMAXCONN) != 0)
    return SystemError("listening on a local socket", errno);
  return LocalListener(std::move(fd), std::move(name));
}

absl::StatusOr<LocalSocket> LocalListener::Accept(absl::Time deadline) {
  RETURN_IF_ERROR(AwaitReadable(fd_.get(), deadline));
  FileDescriptor accepted(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted.valid()) return SystemError("accepting on a local socket", errno);
  return LocalSocket(std::move(accepted));
}

std::string RandomToken() {
  std::random_device device;  // the system's generator
  return absl::StrFormat("%08x%08x%08x%08x", device(), device(), device(), device());
}

}  // namespace lockstep

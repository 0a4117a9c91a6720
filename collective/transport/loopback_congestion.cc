#include "collective/transport/loopback_congestion.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
}

bool IsLoopbackConnection(int descriptor) {
  sockaddr_storage local = {};
  sockaddr_storage remote = {};
  socklen_t local_size = sizeof(local);
  socklen_t remote_size = sizeof(remote);
  int type = 0;
  socklen_t type_size = sizeof(type);
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM &&
         getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &local_size) == 0 &&
         getpeername(descriptor, reinterpret_cast<sockaddr*>(&remote), &remote_size) == 0 &&
         IsLoopback(local) && IsLoopback(remote);
}

}  // namespace

absl::StatusOr<int> SetLoopbackCongestionControl(const std::string& algorithm) {
  // gRPC does not show its descriptors; the process's own list does.
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), &closedir);
  if (directory == nullptr) return absl::InternalError(absl::StrCat("/proc/self/fd: ", strerror(errno)));
  int count = 0;
  while (const dirent* entry = readdir(directory.get())) {
    int descriptor = -1;
    if (!absl::SimpleAtoi(entry->d_name, &descriptor) || !IsLoopbackConnection(descriptor)) continue;
    if (setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(),
                   static_cast<socklen_t>(algorithm.size())) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("congestion control \"", algorithm, "\": ", strerror(errno),
                       "; see /proc/sys/net/ipv4/tcp_allowed_congestion_control"));
    }
    ++count;
  }
  return count;
}

}  // namespace lockstep

#include "worker/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr absl::Duration kResolveAgain = absl::Milliseconds(500);

using AddressInfo = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<AddressInfo> Resolve(const HostPort& target, absl::Time deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  while (true) {
    addrinfo* found = nullptr;
    const int error = getaddrinfo(target.host.c_str(), absl::StrCat(target.port).c_str(), &hints, &found);
    if (error == 0) return AddressInfo(found, &freeaddrinfo);
    if (absl::Now() + kResolveAgain > deadline) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", target.host,
                                                 ": the name does not resolve (", gai_strerror(error), ")"));
    }
    absl::SleepFor(kResolveAgain);
  }
}

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

std::string Numeric(const addrinfo& info) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (info.ai_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(info.ai_addr);
    inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    return absl::StrCat(text.data(), ":", ntohs(v4->sin_port));
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(info.ai_addr);
  inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
  return absl::StrCat("[", text.data(), "]:", ntohs(v6->sin6_port));
}

// A port that another process listens on would otherwise only show as a line in gRPC's log. Binding is enough
// to see it; a socket that listened here for a moment would take connections and drop them. Puts the port
// that the system has chosen into `info`.
absl::Status TryToBind(addrinfo* info, const std::string& host_port) {
  const int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  const int on = 1;
  // As gRPC does: a port in TIME_WAIT is free.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool is_bound = bind(fd, info->ai_addr, info->ai_addrlen) == 0 &&
                        getsockname(fd, info->ai_addr, &info->ai_addrlen) == 0;
  const int error = errno;
  close(fd);
  if (is_bound) return absl::OkStatus();
  if (error == EADDRINUSE) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", host_port,
                     ": address already in use; does another lockstepd run with the "
                     "same TF_CONFIG?"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot listen on ", host_port, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::string> ResolveListenAddress(const HostPort& target, NetworkTrust trust,
                                                 absl::Time deadline) {
  const std::string host_port = target.ToString();
  ASSIGN_OR_RETURN(const AddressInfo info, Resolve(target, deadline));
  if (trust == NetworkTrust::kLoopbackOnly && !IsLoopback(info->ai_addr)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "cannot listen on ", host_port, ": ", Numeric(*info),
        " is not a loopback address, and connections are neither encrypted nor authenticated. If the network "
        "is trusted, say --insecure_network"));
  }
  RETURN_IF_ERROR(TryToBind(info.get(), host_port));
  return Numeric(*info);
}

}  // namespace lockstep

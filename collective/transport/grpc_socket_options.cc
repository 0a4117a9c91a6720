#include "collective/transport/grpc_socket_options.h"

#include <grpc/support/sync.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/version_info.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_descriptor.h"
#include "base/mutex.h"

// gRPC takes a socket mutator in its public interface (ChannelArguments::SetSocketMutator), but does not
// install what one is made of: src/core/lib/iomgr/socket_mutator.h. The test sees the options arrive.
static_assert(GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51,
              "compare gRPC's src/core/lib/iomgr/socket_mutator.h with what follows");

enum grpc_fd_usage {
  GRPC_FD_CLIENT_CONNECTION_USAGE,
  GRPC_FD_SERVER_LISTENER_USAGE,
  GRPC_FD_SERVER_CONNECTION_USAGE,
};

struct grpc_mutate_socket_info {
  int fd;
  grpc_fd_usage usage;
};

struct grpc_socket_mutator_vtable {
  bool (*mutate_fd)(int fd, grpc_socket_mutator* mutator);
  int (*compare)(grpc_socket_mutator* a, grpc_socket_mutator* b);
  void (*destroy)(grpc_socket_mutator* mutator);
  bool (*mutate_fd_2)(const grpc_mutate_socket_info* info, grpc_socket_mutator* mutator);
};

struct grpc_socket_mutator {
  const grpc_socket_mutator_vtable* vtable;
  gpr_refcount refcount;
};

void grpc_socket_mutator_init(grpc_socket_mutator* mutator, const grpc_socket_mutator_vtable* vtable);

namespace lockstep {
namespace {

int DomainOf(int fd) {
  int domain = AF_UNSPEC;
  socklen_t size = sizeof(domain);
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain;
}

bool SetCongestionControl(int fd, const std::string& name) {
  return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

// Owned by gRPC, which counts the references.
class Mutator : public grpc_socket_mutator {
 public:
  explicit Mutator(const SocketOptions& options) : options_(options) {
    static constexpr grpc_socket_mutator_vtable kTable = {nullptr, &Compare, &Destroy, &Mutate};
    grpc_socket_mutator_init(this, &kTable);
    HandOver(this);
  }

 private:
  static bool Mutate(const grpc_mutate_socket_info* info, grpc_socket_mutator* mutator) {
    TakeOver(mutator);
    if (info->usage == GRPC_FD_SERVER_LISTENER_USAGE) return true;
    const SocketOptions& options = static_cast<Mutator*>(mutator)->options_;
    if (DomainOf(info->fd) == AF_UNIX) {
      const int bytes = options.unix_send_buffer_bytes;
      setsockopt(info->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    } else if (!options.congestion_control.empty()) {
      SetCongestionControl(info->fd, options.congestion_control);
    }
    return true;
  }
  // Connections whose options differ are not shared.
  static int Compare(grpc_socket_mutator* a, grpc_socket_mutator* b) { return a < b ? -1 : a > b; }
  static void Destroy(grpc_socket_mutator* mutator) {
    TakeOver(mutator);
    delete static_cast<Mutator*>(mutator);
  }

  const SocketOptions options_;
};

class ServerSocketOptions : public grpc::ServerBuilderOption {
 public:
  explicit ServerSocketOptions(const SocketOptions& options) : options_(options) {}
  void UpdateArguments(grpc::ChannelArguments* arguments) override {
    ApplySocketOptions(options_, arguments);
  }
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* /*plugins*/) override {}

 private:
  const SocketOptions options_;
};

}  // namespace

absl::Status CheckCongestionControl(const std::string& name) {
  const FileDescriptor socket_of_any_kind(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (SetCongestionControl(socket_of_any_kind.get(), name)) return absl::OkStatus();
  const std::string cause = strerror(errno);
  std::ifstream file("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
  std::string allowed;
  std::getline(file, allowed);
  return absl::InvalidArgumentError(
      absl::StrCat("congestion control \"", name, "\": ", cause, "; this system allows: ", allowed));
}

void ApplySocketOptions(const SocketOptions& options, grpc::ChannelArguments* arguments) {
  arguments->SetSocketMutator(new Mutator(options));
}

void ApplySocketOptions(const SocketOptions& options, grpc::ServerBuilder* builder) {
  builder->SetOption(std::make_unique<ServerSocketOptions>(options));
}

}  // namespace lockstep

#include "collective/transport/grpc_socket_options.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/status_matchers.h"
#include "collective/transport/grpc_cluster.h"
#include "gmock/gmock.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

int Option(int fd, int level, int option) {
  int value = 0;
  socklen_t size = sizeof(value);
  return getsockopt(fd, level, option, &value, &size) == 0 ? value : 0;
}

bool IsConnected(int fd) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof(peer);
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

// gRPC does not show its connections; the process's own list of descriptors does.
std::vector<int> ConnectionsOfThisProcess(int domain) {
  std::vector<int> connections;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), &closedir);
  while (const dirent* entry = readdir(directory.get())) {
    int fd = -1;
    if (absl::SimpleAtoi(entry->d_name, &fd) && Option(fd, SOL_SOCKET, SO_DOMAIN) == domain &&
        Option(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM && IsConnected(fd)) {
      connections.push_back(fd);
    }
  }
  return connections;
}

std::string CongestionControlOf(int fd) {
  char name[16] = {};
  socklen_t size = sizeof(name);
  EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
  return name;
}

std::vector<std::string> CongestionControls() {
  std::vector<std::string> names;
  for (int domain : {AF_INET, AF_INET6}) {
    for (int fd : ConnectionsOfThisProcess(domain)) names.push_back(CongestionControlOf(fd));
  }
  return names;
}

// Every system has reno, and it is nobody's default.
TEST(GrpcSocketOptionsTest, BothEndsOfATcpConnectionGetTheCongestionControl) {
  GrpcTransportOptions options;
  options.socket.congestion_control = "reno";
  GrpcCluster cluster(2, options);
  const std::vector<std::unique_ptr<Transport>> group = cluster.Connect(1, 0);
  EXPECT_THAT(CongestionControls(), SizeIs(2));
  EXPECT_THAT(CongestionControls(), Each("reno"));
}

TEST(GrpcSocketOptionsTest, TheSystemsDefaultStaysIfNoneIsGiven) {
  GrpcCluster cluster(2);
  const std::vector<std::unique_ptr<Transport>> group = cluster.Connect(1, 0);
  std::string name;
  std::ifstream("/proc/sys/net/ipv4/tcp_congestion_control") >> name;
  EXPECT_THAT(CongestionControls(), SizeIs(2));
  EXPECT_THAT(CongestionControls(), Each(name));
}

TEST(GrpcSocketOptionsTest, BothEndsOfAUnixConnectionGetTheSendBuffer) {
  GrpcTransportOptions options;
  options.socket.unix_send_buffer_bytes = 100'000;  // within any system's limit
  GrpcCluster cluster(2, options, Sockets::kUnix);
  const std::vector<std::unique_ptr<Transport>> group = cluster.Connect(1, 0);
  int connections = 0;
  for (int fd : ConnectionsOfThisProcess(AF_UNIX)) {
    // The kernel doubles what it is given.
    connections += Option(fd, SOL_SOCKET, SO_SNDBUF) == 2 * options.socket.unix_send_buffer_bytes;
  }
  EXPECT_EQ(connections, 2);
  EXPECT_THAT(CongestionControls(), SizeIs(0));
}

TEST(GrpcSocketOptionsTest, AnUnknownCongestionControlIsRefusedWithTheKnownOnes) {
  EXPECT_OK(CheckCongestionControl("reno"));
  EXPECT_THAT(CheckCongestionControl("no_such"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"no_such\"")));
  EXPECT_THAT(CheckCongestionControl("no_such"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("reno")));
}

}  // namespace
}  // namespace lockstep

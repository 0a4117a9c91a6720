#include "test/cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/file_utilities.h"
#include "base/logging.h"
#include "test/files.h"

namespace lockstep {
namespace {

uint32_t DrawHost() {
  constexpr uint32_t kFirst = (127u << 24) | (64u << 16);
  std::random_device device;
  return kFirst + std::uniform_int_distribution<uint32_t>(1, (1u << 22) - 2)(device);
}

// A list of a cluster: "worker":["127.64.0.1:5301","127.64.0.1:5302"]
std::string Entry(const char* type, const std::vector<std::string>& addresses) {
  return absl::StrCat("\"", type, "\":[\"", absl::StrJoin(addresses, "\",\""), "\"]");
}

std::string TfConfig(const std::string& entries, const char* type, int index) {
  return absl::StrFormat(R"({"cluster":{%s},"task":{"type":"%s","index":%d}})", entries, type, index);
}

std::vector<std::string> AddressesOf(const ClusterOptions& options) {
  const int per_host = options.ranks_per_host > 0 ? options.ranks_per_host : options.world_size;
  std::vector<std::string> addresses;
  while (static_cast<int>(addresses.size()) < options.world_size) {
    const int missing = options.world_size - static_cast<int>(addresses.size());
    for (const std::string& address : ChooseAddresses(std::min(per_host, missing)))
      addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

std::vector<std::string> ChooseAddresses(int count) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(DrawHost());
  char host[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));
  std::vector<std::string> addresses;
  std::vector<int> sockets;  // held until each has its port, so that none is given twice
  for (int i = 0; i < count; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in bound = address;
    socklen_t length = sizeof(bound);
    CHECK_EQ(bind(sockets.back(), reinterpret_cast<sockaddr*>(&bound), length), 0) << host;
    CHECK_EQ(getsockname(sockets.back(), reinterpret_cast<sockaddr*>(&bound), &length), 0);
    addresses.push_back(absl::StrCat(host, ":", ntohs(bound.sin_port)));
  }
  for (const int fd : sockets) close(fd);
  return addresses;
}

std::string WorkerTfConfig(const std::vector<std::string>& addresses, int rank) {
  return TfConfig(Entry("worker", addresses), "worker", rank);
}

std::string ChiefTfConfig(const std::vector<std::string>& addresses, int rank) {
  const std::vector<std::string> workers(addresses.begin() + 1, addresses.end());
  const std::string entries = absl::StrCat(Entry("chief", {addresses[0]}), ",", Entry("worker", workers));
  return rank == 0 ? TfConfig(entries, "chief", 0) : TfConfig(entries, "worker", rank - 1);
}

Cluster::Cluster(const ClusterOptions& options, Prepared)
    : options_(options),
      addresses_(AddressesOf(options)),
      directory_(MakeTemporaryDirectory()),
      launches_(options.world_size),
      daemons_(options.world_size) {
  for (const char* name : {"data", "output"}) {
    const absl::Status made = CreateDirectories(FileSystem::Posix(), absl::StrCat(directory_, "/", name));
    CHECK(made.ok()) << made;
  }
}

Cluster::Cluster(const ClusterOptions& options) : Cluster(options, Prepared()) { LaunchAll(); }

std::unique_ptr<Cluster> Cluster::Prepare(const ClusterOptions& options) {
  return std::unique_ptr<Cluster>(new Cluster(options, Prepared()));
}

void Cluster::Launch(int rank) {
  DaemonOptions daemon;
  daemon.tf_config = options_.chief_key ? ChiefTfConfig(addresses_, rank) : WorkerTfConfig(addresses_, rank);
  daemon.flags = options_.flags;
  daemon.environment = options_.environment;
  const auto root = [&daemon, rank](const char* flag, const std::map<int, std::string>& given,
                                    const std::string& own) {
    daemon.flags.push_back(flag);
    daemon.flags.push_back(given.count(rank) > 0 ? given.at(rank) : own);
  };
  root("--data_root", options_.data_roots, data_path(""));
  root("--output_root", options_.output_roots, output_path(""));
  daemon.log = absl::StrCat(directory_, "/rank-", rank, "-", launches_[rank]++, ".log");
  daemons_[rank] = std::make_unique<Daemon>(daemon);
}

void Cluster::LaunchAll() {
  for (int rank = 0; rank < world_size(); ++rank) Launch(rank);
  for (int rank = 0; rank < world_size(); ++rank) AwaitListening(rank);
}

void Cluster::AwaitListening(int rank) {
  CHECK(daemon(rank).AwaitListening(address(rank))) << daemon(rank).Log();
}

std::string Cluster::Name(int rank) const { return absl::StrCat("rank ", rank, " (", address(rank), ")"); }

std::string Cluster::data_path(const std::string& name) const {
  return absl::StrCat(directory_, "/data/", name);
}

std::string Cluster::output_path(const std::string& name) const {
  return absl::StrCat(directory_, "/output/", name);
}

}  // namespace lockstep

#include "tools/local_cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "proto/trainer.pb.h"
#include "tools/cluster_table.h"
#include "tools/trainer_client.h"

namespace lockstep {
namespace {

constexpr absl::Duration kJoinCheck = absl::Milliseconds(20);
// A daemon ends its job and its connections in order when told to; it is killed if it takes longer.
constexpr absl::Duration kStopTimeout = absl::Seconds(10);
// Ports are free when they are chosen and may be taken until the daemon listens.
constexpr int kPortAttempts = 5;
constexpr int64_t kMostLogBytes = 64 << 20;

// Holds all sockets until each has its port, so that no port is given twice.
absl::StatusOr<std::vector<std::string>> ChooseAddresses(int count) {
  std::vector<std::string> addresses;
  std::vector<int> sockets;
  absl::Status status;
  while (status.ok() && static_cast<int>(addresses.size()) < count) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) sockets.push_back(fd);
    if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      status = absl::ErrnoToStatus(errno, "cannot get a free port on 127.0.0.1");
    }
    addresses.push_back(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)));
  }
  for (const int fd : sockets) close(fd);
  RETURN_IF_ERROR(status);
  return addresses;
}

std::string TfConfig(const std::vector<std::string>& addresses, int rank) {
  const nlohmann::json config = {{"cluster", {{"worker", addresses}}},
                                 {"task", {{"type", "worker"}, {"index", rank}}}};
  return absl::StrCat("TF_CONFIG=", config.dump());
}

// What a daemon said about its end: its own error line, or the last one.
std::string LastWords(const std::string& log) {
  constexpr absl::string_view kErrorPrefix = "lockstepd: ";
  const absl::StatusOr<std::string> text = ReadWholeFile(FileSystem::Posix(), log, kMostLogBytes);
  if (!text.ok()) return std::string(text.status().message());
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n', absl::SkipWhitespace());
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (absl::StartsWith(*line, kErrorPrefix)) return line->substr(kErrorPrefix.size());
  return lines.empty() ? "it said nothing" : lines.back();
}

// Whether the daemons that answer are these, and not another cluster that took their ports.
bool AreOurs(const v1::Cluster& cluster, const std::vector<std::unique_ptr<ChildProcess>>& daemons) {
  if (cluster.members_size() != static_cast<int>(daemons.size())) return false;
  for (size_t rank = 0; rank < daemons.size(); ++rank)
    if (cluster.members(static_cast<int>(rank)).pid() != daemons[rank]->pid()) return false;
  return true;
}

}  // namespace

absl::Status CheckProgram(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return absl::FailedPreconditionError(absl::StrCat("cannot run ", path, ": not a regular file"));
  if (access(path.c_str(), X_OK) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot run ", path));
}

absl::StatusOr<std::string> FindLockstepd() {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  const std::string here = ParentDirectory(absl::string_view(self, std::max<ssize_t>(length, 0)));
  std::vector<std::string> places = {absl::StrCat(ParentDirectory(here), "/worker/lockstepd"),
                                     absl::StrCat(here, "/lockstepd")};
  const char* path = std::getenv("PATH");
  for (const absl::string_view directory :
       absl::StrSplit(path != nullptr ? path : "", ':', absl::SkipEmpty()))
    places.push_back(absl::StrCat(directory, "/lockstepd"));
  for (const std::string& place : places)
    if (CheckProgram(place).ok()) return place;
  return absl::NotFoundError(absl::StrCat("lockstepd is neither ", places[0], " nor ", places[1],
                                          " nor in PATH; name it by --lockstepd"));
}

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(const Options& options) {
  absl::Status status;
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    auto cluster = std::unique_ptr<LocalCluster>(new LocalCluster(options));
    status = cluster->StartDaemons();
    if (status.ok()) status = cluster->AwaitComplete();
    if (status.ok()) return cluster;
    if (cluster->PortWasTaken()) continue;
    // Waiting does not help against a program that ends by itself: it is another one, or cannot use its
    // flags.
    if (absl::IsUnavailable(status) && !cluster->CheckRunning().ok())
      return absl::FailedPreconditionError(status.message());
    break;
  }
  return status;
}

absl::Status LocalCluster::StartDaemons() {
  ASSIGN_OR_RETURN(addresses_, ChooseAddresses(options_.workers));
  for (int rank = 0; rank < options_.workers; ++rank) {
    logs_.push_back(absl::StrCat(options_.log_directory, "/rank-", rank, ".log"));
    ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> daemon,
                     ChildProcess::Start(
                         {options_.lockstepd, options_.flags, {TfConfig(addresses_, rank)}, logs_.back()}));
    daemons_.push_back(std::move(daemon));
  }
  return absl::OkStatus();
}

absl::Status LocalCluster::AwaitComplete() {
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainerClient> client,
                   TrainerClient::Create(addresses_[0], kJoinCheck));
  const absl::Time deadline = absl::Now() + options_.start_timeout;
  while (true) {
    RETURN_IF_ERROR(CheckRunning());
    const absl::StatusOr<v1::Cluster> cluster = client->DescribeCluster();
    if (cluster.ok() && IsComplete(*cluster) && AreOurs(*cluster, daemons_)) return absl::OkStatus();
    if (options_.interrupted()) return absl::CancelledError("interrupted while the daemons started");
    if (absl::Now() > deadline) {
      return absl::UnavailableError(absl::StrCat(
          "the ", workers(), " daemons have not found each other within ",
          absl::FormatDuration(options_.start_timeout), "; their logs are in ", options_.log_directory));
    }
    absl::SleepFor(kJoinCheck);
  }
}

absl::Status LocalCluster::CheckRunning() {
  for (int rank = 0; rank < workers(); ++rank) {
    const std::optional<std::string> ended = daemons_[rank]->Ended();
    if (!ended) continue;
    return absl::UnavailableError(absl::StrCat("the daemon of rank ", rank, " ended with ", *ended, ": ",
                                               LastWords(logs_[rank]), " (log: ", logs_[rank], ")"));
  }
  return absl::OkStatus();
}

bool LocalCluster::PortWasTaken() {
  for (int rank = 0; rank < workers(); ++rank)
    if (daemons_[rank]->Ended() && absl::StrContains(LastWords(logs_[rank]), "address already in use"))
      return true;
  return false;
}

void LocalCluster::Stop() {
  for (const std::unique_ptr<ChildProcess>& daemon : daemons_) {
    daemon->Signal(SIGTERM);
    // One that is frozen could not obey.
    daemon->Signal(SIGCONT);
  }
  const absl::Time deadline = absl::Now() + kStopTimeout;
  for (const std::unique_ptr<ChildProcess>& daemon : daemons_) {
    if (daemon->WaitUntil(deadline)) continue;
    daemon->Signal(SIGKILL);
    daemon->WaitUntil(absl::Now() + kStopTimeout);
  }
}

LocalCluster::~LocalCluster() { Stop(); }

}  // namespace lockstep

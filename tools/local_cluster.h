// A cluster of daemons on this machine, for `lockstep local` and for tests.
#ifndef LOCKSTEP_TOOLS_LOCAL_CLUSTER_H_
#define LOCKSTEP_TOOLS_LOCAL_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/child_process.h"

namespace lockstep {

// The daemon's program: beside this one ("../worker/lockstepd" as Bazel builds them, or the same directory),
// else in PATH. NOT_FOUND says where it was looked for.
absl::StatusOr<std::string> FindLockstepd();

// NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION: the file cannot be run.
absl::Status CheckProgram(const std::string& path);

// For one thread, which must outlive the daemons (see ChildProcess).
class LocalCluster {
 public:
  struct Options {
    int workers = 1;
    std::string lockstepd;           // a path
    std::vector<std::string> flags;  // for every daemon
    std::string log_directory;       // exists; gets rank-0.log, rank-1.log, ...
    absl::Duration start_timeout = absl::Seconds(60);
    // Asked while waiting; true gives up.
    std::function<bool()> interrupted = [] { return false; };
  };

  // Starts the daemons on free ports of 127.0.0.1, all of them workers in TF_CONFIG, and returns once each
  // has joined. Tries other ports if one is taken meanwhile. Errors: FAILED_PRECONDITION a daemon ended (how,
  // its own message, and where its log is). UNAVAILABLE no free ports were found, or the cluster was not
  // complete within the timeout. CANCELLED interrupted. Those of ChildProcess::Start.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(const Options& options);
  // Stops it.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  int workers() const { return static_cast<int>(daemons_.size()); }
  // host:port of a daemon. Clients may use any.
  const std::string& address(int rank) const { return addresses_[rank]; }
  const std::string& log_path(int rank) const { return logs_[rank]; }
  ChildProcess* daemon(int rank) { return daemons_[rank].get(); }

  // OK while all daemons run, else how the first one ended and what it said last.
  absl::Status CheckRunning();

  // SIGTERM to all daemons, then SIGKILL to those that do not end. Idempotent.
  void Stop();

 private:
  explicit LocalCluster(const Options& options) : options_(options) {}

  absl::Status StartDaemons();
  absl::Status AwaitComplete();
  bool PortWasTaken();

  const Options options_;
  std::vector<std::string> addresses_;
  std::vector<std::string> logs_;
  std::vector<std::unique_ptr<ChildProcess>> daemons_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_LOCAL_CLUSTER_H_

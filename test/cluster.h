// A cluster of real daemons on this machine for one test.
//
// Each cluster has a loopback host of its own, drawn from 127.64.0.0/10. Connections of clients come from
// 127.0.0.1, so nothing else takes ports of that host: a port that was free when the cluster was made is
// free when its daemon starts, and when it starts again.
#ifndef LOCKSTEP_TEST_CLUSTER_H_
#define LOCKSTEP_TEST_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/daemon.h"
#include "test/job_client.h"

namespace lockstep {

// `count` addresses of a loopback host that no other test uses.
std::vector<std::string> ChooseAddresses(int count);

// The value of TF_CONFIG for a rank of a cluster without a chief entry.
std::string WorkerTfConfig(const std::vector<std::string>& addresses, int rank);
// The first address is the chief's.
std::string ChiefTfConfig(const std::vector<std::string>& addresses, int rank);

struct ClusterOptions {
  int world_size = 1;
  bool chief_key = false;
  // As TF_CONFIG tells; all of them are this one. 0: all ranks on one host.
  int ranks_per_host = 0;
  std::vector<std::string> flags;        // of every daemon
  std::vector<std::string> environment;  // likewise
  // In place of the cluster's own directories, by rank.
  std::map<int, std::string> data_roots, output_roots;
};

// For the test's main thread.
class Cluster {
 public:
  // Returns once all daemons listen.
  explicit Cluster(const ClusterOptions& options);
  // Without daemons yet.
  static std::unique_ptr<Cluster> Prepare(const ClusterOptions& options);

  // Starts, or starts anew, the daemon of a rank; the one before must have ended.
  void Launch(int rank);
  void LaunchAll();
  // Waits until it listens.
  void AwaitListening(int rank);

  int world_size() const { return options_.world_size; }
  Daemon& daemon(int rank) { return *daemons_[rank]; }
  const std::string& address(int rank) const { return addresses_[rank]; }
  // As messages name it: "rank 2 (127.64.0.1:5302)".
  std::string Name(int rank) const;
  JobClient client(int rank = 0) const { return JobClient(addresses_[rank]); }

  const std::string& directory() const { return directory_; }
  std::string data_path(const std::string& name) const;
  std::string output_path(const std::string& name) const;

 private:
  struct Prepared {};
  Cluster(const ClusterOptions& options, Prepared);

  const ClusterOptions options_;
  const std::vector<std::string> addresses_;
  const std::string directory_;
  std::vector<int> launches_;  // of each rank, so far
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_CLUSTER_H_

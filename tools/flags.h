// Flags that several commands share.
#ifndef LOCKSTEP_TOOLS_FLAGS_H_
#define LOCKSTEP_TOOLS_FLAGS_H_

#include <string>

#include "absl/time/time.h"

namespace CLI {
class App;
}  // namespace CLI

namespace lockstep {

// Where the cluster is.
struct ClusterFlags {
  std::string address = "127.0.0.1:5300";
  double connect_timeout_seconds = 10;

  absl::Duration connect_timeout() const { return absl::Seconds(connect_timeout_seconds); }
};

// How a job is shown.
struct ReportFlags {
  bool json = false;
  std::string summary;  // file; empty: none
};

// A cluster of this machine, for one job.
struct LocalFlags {
  int workers = 2;
  std::string lockstepd;    // empty: FindLockstepd()
  std::string logs;         // directory; empty: a temporary one
  std::string data_root;    // empty: the working directory
  std::string output_root;  // likewise
};

void DeclareClusterFlags(CLI::App* command, ClusterFlags* flags);
void DeclareReportFlags(CLI::App* command, ReportFlags* flags);
void DeclareLocalFlags(CLI::App* command, LocalFlags* flags);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_FLAGS_H_

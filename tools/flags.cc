#include "tools/flags.h"

#include "CLI/CLI.hpp"
#include "base/seconds_flag.h"

namespace lockstep {
namespace {

// Daemons on one machine share its processors: more than this is a slip of the finger.
constexpr int kMostLocalWorkers = 256;

}  // namespace

void DeclareClusterFlags(CLI::App* command, ClusterFlags* flags) {
  command->add_option("--address", flags->address, "any daemon of the cluster")
      ->type_name("HOST:PORT")
      ->envname("LOCKSTEP_ADDRESS")
      ->capture_default_str();
  command
      ->add_option("--connect_timeout", flags->connect_timeout_seconds,
                   "how long to wait for the cluster to answer, and for a lost connection to come back")
      ->type_name("SECONDS")
      ->check(CheckSeconds)
      ->capture_default_str();
}

void DeclareReportFlags(CLI::App* command, ReportFlags* flags) {
  command->add_flag("--json", flags->json, "print one JSON object per event instead of progress");
  command
      ->add_option("--summary", flags->summary,
                   "write one JSON object about the whole job, also if it failed")
      ->type_name("FILE");
}

void DeclareLocalFlags(CLI::App* command, LocalFlags* flags) {
  command->add_option("--workers", flags->workers, "daemons to start on this machine")
      ->type_name("N")
      ->check(CLI::Range(1, kMostLocalWorkers))
      ->capture_default_str();
  command->add_option("--data_root", flags->data_root, "directory of the data (default: here)")
      ->type_name("DIR");
  command
      ->add_option("--output_root", flags->output_root,
                   "directory of checkpoints and predictions (default: here)")
      ->type_name("DIR");
  command
      ->add_option("--lockstepd", flags->lockstepd,
                   "the daemon's program (default: beside this one, else in PATH)")
      ->type_name("FILE");
  command
      ->add_option("--logs", flags->logs,
                   "directory for the daemons' logs (default: a temporary one, kept after a failure)")
      ->type_name("DIR");
}

}  // namespace lockstep

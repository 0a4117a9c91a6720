// The daemon: the same program on every node, told apart by TF_CONFIG. Exit codes: 0 stopped, or the job of
// --job succeeded; 1 that job failed, or another
// process has taken the rank; 2 bad usage, TF_CONFIG or job; 3 the cluster cannot be formed.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/process.h"
#include "base/quoted.h"
#include "base/seconds_flag.h"
#include "collective/transport/grpc_socket_options.h"
#include "proto/trainer.pb.h"
#include "worker/identity.h"
#include "worker/job_check.h"
#include "worker/job_file.h"
#include "worker/log_listener.h"
#include "worker/node.h"
#include "worker/spec_job.h"
#include "worker/tf_config.h"

namespace lockstep {
namespace {

// How soon the end of the job of --job, or that another process has taken the rank, is noticed.
constexpr timespec kEndCheck = {0, 20'000'000};
constexpr timespec kFailureCheck = {0, 200'000'000};

enum ExitCode { kStopped = 0, kJobFailed = 1, kBadUsage = 2, kNoCluster = 3 };

struct Flags {
  SpecJob::Options job;
  NodeOptions node;
  std::string job_file;
  double join_timeout = 60;
  double heartbeat_interval = 2;
  double heartbeat_timeout = 10;
  bool insecure_network = false;
};

absl::Status CheckFlags(const CLI::App& app, const Flags& flags) {
  if (app.count("--job") > 0 && flags.job_file.empty())
    return absl::InvalidArgumentError("--job names no file");
  if (flags.heartbeat_timeout < 2 * flags.heartbeat_interval) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--heartbeat_timeout ", flags.heartbeat_timeout, " is less than twice --heartbeat_interval ",
        flags.heartbeat_interval, ": healthy ranks would be taken for lost"));
  }
  if (!flags.node.congestion_control.empty()) {
    const absl::Status known = CheckCongestionControl(flags.node.congestion_control);
    if (!known.ok())
      return absl::InvalidArgumentError(absl::StrCat("--congestion_control: ", known.message()));
  }
  std::error_code error;
  if (!std::filesystem::is_directory(flags.job.data_root, error))
    return absl::NotFoundError(
        absl::StrCat("--data_root ", Quoted(flags.job.data_root), " is not a directory"));
  return absl::OkStatus();
}

void Declare(CLI::App* app, Flags* flags) {
  app->add_option("--data_root", flags->job.data_root, "directory that data files lie below")
      ->capture_default_str();
  app->add_option("--output_root", flags->job.output_root,
                  "directory that checkpoints and predictions lie below")
      ->capture_default_str();
  app->add_option("--job", flags->job_file,
                  "run this job (text format or JSON) and exit; every node gets the same file");
  app->add_option("--bind", flags->node.bind,
                  "host or host:port to listen on instead of the own TF_CONFIG entry");
  app->add_option("--port", flags->node.port, "without TF_CONFIG: port on 127.0.0.1, 0 for any")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  app->add_flag("--insecure_network", flags->insecure_network,
                "allow plain text on addresses that are not loopback");
  app->add_option("--join_timeout", flags->join_timeout, "seconds to wait for all ranks")
      ->capture_default_str()
      ->check(CheckSeconds);
  app->add_option("--heartbeat_interval", flags->heartbeat_interval, "seconds between heartbeats")
      ->capture_default_str()
      ->check(CheckSeconds);
  app->add_option("--heartbeat_timeout", flags->heartbeat_timeout,
                  "seconds of silence after which a rank is lost")
      ->capture_default_str()
      ->check(CheckSeconds);
  app->add_option("--congestion_control", flags->node.congestion_control,
                  "of TCP connections, one that this system allows; default: the system's");
  app->set_version_flag("--version", std::string("lockstepd ") + kVersion);
}

int Refuse(const absl::Status& status, ExitCode code) {
  std::fprintf(stderr, "lockstepd: %s\n", std::string(status.message()).c_str());
  return code;
}

// Blocks SIGINT and SIGTERM in this thread and all that it starts, to be waited for.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

std::string StopReason(int signal, const sigset_t& signals) {
  // A second one ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return absl::StrCat("the daemon shuts down (", signal == SIGINT ? "SIGINT" : "SIGTERM", ")");
}

// Runs the job on a thread of its own while this one waits for its end or a signal.
int RunOwnJob(Node* node, const v1::JobSpec& spec, const sigset_t& signals) {
  LogListener progress;
  std::atomic<bool> ended{false};
  absl::StatusOr<v1::Job> job;
  std::thread runner([&] {
    job = node->RunOwnJob(spec, &progress);
    ended = true;
  });
  while (!ended) {
    const int signal = sigtimedwait(&signals, nullptr, &kEndCheck);
    if (signal <= 0) continue;
    node->Stop(StopReason(signal, signals));
    break;
  }
  runner.join();
  if (!node->failure().ok()) return Refuse(node->failure(), kJobFailed);
  if (!job.ok()) return Refuse(job.status(), kNoCluster);
  if (job->state() != v1::SUCCEEDED) {
    return Refuse(absl::AbortedError(job->error().empty() ? "the job did not end" : job->error()),
                  kJobFailed);
  }
  LOG(INFO) << "the job succeeded";
  return kStopped;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "lockstepd: a worker of a lockstep cluster. TF_CONFIG in the environment describes the cluster.");
  Declare(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Refuse(absl::InvalidArgumentError(absl::StrCat(error.what(), " (--help lists the flags)")),
                  kBadUsage);
  }
  if (absl::Status status = CheckFlags(app, flags); !status.ok()) return Refuse(status, kBadUsage);
  if (absl::Status status = InitProcess(argv[0]); !status.ok()) return Refuse(status, kBadUsage);

  const char* tf_config = std::getenv("TF_CONFIG");
  absl::StatusOr<ClusterConfig> cluster = ParseTfConfig(tf_config == nullptr ? "" : tf_config);
  if (!cluster.ok()) return Refuse(cluster.status(), kBadUsage);
  flags.node.cluster = *std::move(cluster);
  if (flags.node.cluster.from_environment && app.count("--port") > 0) {
    return Refuse(
        absl::InvalidArgumentError("--port is for a daemon without TF_CONFIG; with it, --bind HOST:PORT "
                                   "says where to listen"),
        kBadUsage);
  }
  if (!flags.node.cluster.from_environment) LOG(INFO) << "TF_CONFIG is not set: a cluster of this one worker";
  if (!flags.job_file.empty()) {
    absl::StatusOr<v1::JobSpec> spec = ReadJobFile(flags.job_file);
    if (!spec.ok()) return Refuse(spec.status(), kBadUsage);
    if (absl::Status checked = CheckJob(*spec); !checked.ok())
      return Refuse(absl::InvalidArgumentError(absl::StrCat(flags.job_file, ": ", checked.message())),
                    kBadUsage);
    flags.job.own_spec = *std::move(spec);
    flags.node.accepts_jobs = false;
  }
  flags.node.trust = flags.insecure_network ? NetworkTrust::kInsecure : NetworkTrust::kLoopbackOnly;
  flags.node.join_timeout = absl::Seconds(flags.join_timeout);
  flags.node.heartbeat_interval = absl::Seconds(flags.heartbeat_interval);
  flags.node.heartbeat_timeout = absl::Seconds(flags.heartbeat_timeout);

  const sigset_t signals = BlockStopSignals();
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(flags.node, std::make_unique<SpecJob>(flags.job));
  if (!node.ok()) return Refuse(node.status(), kBadUsage);
  const ClusterConfig& config = flags.node.cluster;
  LOG(INFO) << "rank " << config.rank << " of " << config.world_size() << " (" << config.names[config.rank]
            << ") listens on " << (*node)->address() << "; every rank has "
            << absl::FormatDuration(flags.node.join_timeout) << " to join";
  if (flags.job.own_spec.has_value()) return RunOwnJob(node->get(), *flags.job.own_spec, signals);
  int signal = 0;
  while ((signal = sigtimedwait(&signals, nullptr, &kFailureCheck)) <= 0) {
    if (const absl::Status failure = (*node)->failure(); !failure.ok()) return Refuse(failure, kJobFailed);
  }
  const std::string why = StopReason(signal, signals);
  LOG(INFO) << why;
  (*node)->Stop(why);
  return kStopped;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  lockstep::RestartWithSleepingThreads(argv);
  return lockstep::Main(argc, argv);
}

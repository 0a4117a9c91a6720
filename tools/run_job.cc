#include "tools/run_job.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"
#include "tools/job_follower.h"
#include "tools/job_report.h"
#include "tools/local_cluster.h"
#include "tools/stop_signals.h"
#include "tools/temporary_directory.h"
#include "tools/trainer_client.h"

namespace lockstep {
namespace {

// Daemons of this machine answer at once, unless it is badly overloaded.
constexpr absl::Duration kLocalConnectTimeout = absl::Seconds(10);

// 128 random bits: two submissions of this world do not meet.
std::string RandomRequestId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&id, "%08x", random());
  return id;
}

absl::Status Follow(TrainerClient* client, const std::string& job_id, JobFollower* follower,
                    JobReport* report) {
  return follower->Follow(client, job_id, [report](const v1::JobEvent& event) { report->Show(event); });
}

absl::Status SubmitAndFollow(TrainerClient* client, const v1::JobSpec& spec, const std::string& request_id,
                             AfterSubmit after, JobFollower* follower, JobReport* report) {
  ASSIGN_OR_RETURN(const v1::SubmitResponse response,
                   client->Submit(spec, request_id.empty() ? RandomRequestId() : request_id));
  report->ShowSubmitted(response);
  if (after == AfterSubmit::kReturn) return absl::OkStatus();
  return Follow(client, response.job_id(), follower, report);
}

// By doing it: a file system may refuse also what its permissions allow.
absl::Status CheckWritable(const std::string& directory) {
  std::string probe = absl::StrCat(directory, "/.lockstep-XXXXXX");
  if (mkdtemp(probe.data()) == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("--output_root ", directory, " cannot be written to: ", std::strerror(errno)));
  rmdir(probe.c_str());
  return absl::OkStatus();
}

bool Writes(const v1::JobSpec& spec) {
  return spec.task() == v1::JobSpec::PREDICT ||
         (spec.task() != v1::JobSpec::EVALUATE && spec.has_checkpoint());
}

// Before daemons are started that could only fail.
absl::Status CheckRoots(const v1::JobSpec& spec, const LocalFlags& local) {
  FileSystem* files = FileSystem::Posix();
  if (!local.data_root.empty()) {
    const absl::StatusOr<FileSystem::Kind> kind = files->GetKind(local.data_root);
    if (!kind.ok() || *kind != FileSystem::Kind::kDirectory)
      return absl::InvalidArgumentError(absl::StrCat("--data_root ", local.data_root, " is no directory"));
  }
  if (local.output_root.empty()) return Writes(spec) ? CheckWritable(".") : absl::OkStatus();
  const absl::Status made = CreateDirectories(files, local.output_root);
  if (made.ok()) return CheckWritable(local.output_root);
  return absl::InvalidArgumentError(absl::StrCat("--output_root cannot be made: ", made.message()));
}

absl::StatusOr<std::string> ChooseLockstepd(const LocalFlags& local) {
  if (local.lockstepd.empty()) return FindLockstepd();
  RETURN_IF_ERROR(CheckProgram(local.lockstepd));
  return local.lockstepd;
}

std::vector<std::string> DaemonFlags(const LocalFlags& local) {
  std::vector<std::string> flags;
  if (!local.data_root.empty()) flags.push_back(absl::StrCat("--data_root=", local.data_root));
  if (!local.output_root.empty()) flags.push_back(absl::StrCat("--output_root=", local.output_root));
  return flags;
}

// The directory of the daemons' logs: the user's, or a temporary one that goes away with this object.
class LogDirectory {
 public:
  absl::Status Open(const std::string& wanted) {
    path_ = wanted;
    if (!wanted.empty()) return CreateDirectories(FileSystem::Posix(), wanted);
    ASSIGN_OR_RETURN(temporary_, TemporaryDirectory::Create());
    path_ = temporary_->path();
    return absl::OkStatus();
  }

  const std::string& path() const { return path_; }

  void KeepAndName() {
    if (temporary_ != nullptr) temporary_->Keep();
    std::fprintf(stderr, "lockstep: the daemons' logs are in %s\n", path_.c_str());
  }

 private:
  std::string path_;
  std::unique_ptr<TemporaryDirectory> temporary_;
};

// Runs the job on a cluster that lives as long as this call.
absl::Status RunOnDaemons(const v1::JobSpec& spec, const LocalCluster::Options& options,
                          std::unique_ptr<LocalCluster>* cluster, JobFollower* follower, JobReport* report) {
  ASSIGN_OR_RETURN(*cluster, LocalCluster::Start(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainerClient> client,
                   TrainerClient::Create((*cluster)->address(0), kLocalConnectTimeout));
  return SubmitAndFollow(client.get(), spec, "", AfterSubmit::kWatch, follower, report);
}

}  // namespace

ExitCode RefuseJob(const absl::Status& status, const ReportFlags& report) {
  return JobReport(report).Finish(status, {});
}

ExitCode RunOnCluster(const v1::JobSpec& spec, const std::string& request_id, AfterSubmit after,
                      const ClusterFlags& cluster, const ReportFlags& report_flags) {
  JobReport report(report_flags);
  if (absl::Status status = report.CheckSummaryFile(); !status.ok()) return Report(status);
  JobFollower follower({cluster.connect_timeout()});
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<TrainerClient> client,
                     TrainerClient::Create(cluster.address, cluster.connect_timeout()));
    return SubmitAndFollow(client.get(), spec, request_id, after, &follower, &report);
  };
  const absl::Status status = run();
  if (status.ok() && after == AfterSubmit::kReturn) return ExitCode::kSucceeded;
  return report.Finish(status, follower.summary());
}

ExitCode WatchJob(const std::string& job_id, const ClusterFlags& cluster, const ReportFlags& report_flags) {
  JobReport report(report_flags);
  if (absl::Status status = report.CheckSummaryFile(); !status.ok()) return Report(status);
  JobFollower follower({cluster.connect_timeout()});
  const auto watch = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<TrainerClient> client,
                     TrainerClient::Create(cluster.address, cluster.connect_timeout()));
    // The newest job is settled here: after a broken connection another one may be the newest.
    ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(job_id));
    return Follow(client.get(), job.id(), &follower, &report);
  };
  const absl::Status status = watch();
  return report.Finish(status, follower.summary());
}

ExitCode RunLocally(const v1::JobSpec& spec, const LocalFlags& local, const ReportFlags& report_flags) {
  JobReport report(report_flags);
  if (absl::Status status = report.CheckSummaryFile(); !status.ok()) return Report(status);
  if (absl::Status status = CheckRoots(spec, local); !status.ok()) return report.Finish(status, {});
  const absl::StatusOr<std::string> lockstepd = ChooseLockstepd(local);
  if (!lockstepd.ok()) return report.Finish(lockstepd.status(), {});
  LogDirectory logs;
  if (absl::Status status = logs.Open(local.logs); !status.ok()) return report.Finish(status, {});

  std::unique_ptr<LocalCluster> cluster;
  JobFollower::Options follow;
  follow.reconnect_timeout = kLocalConnectTimeout;
  follow.find_cause = [&] { return cluster->CheckRunning(); };
  JobFollower follower(std::move(follow));
  const StopSignals signals([&] { follower.CancelJob(); });

  LocalCluster::Options options;
  options.workers = local.workers;
  options.lockstepd = *lockstepd;
  options.flags = DaemonFlags(local);
  options.log_directory = logs.path();
  options.interrupted = [&] { return follower.cancel_requested(); };
  const absl::Status status = RunOnDaemons(spec, options, &cluster, &follower, &report);
  // What went wrong is told before the daemons take their time to stop.
  const ExitCode code = report.Finish(status, follower.summary());
  cluster.reset();
  if (code != ExitCode::kSucceeded) logs.KeepAndName();
  return code;
}

}  // namespace lockstep

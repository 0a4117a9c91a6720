// lockstep submit, lockstep watch
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/job_input.h"
#include "tools/run_job.h"

namespace lockstep {
namespace {

struct SubmitFlags {
  std::string file;
  std::string request_id;
  bool watch = false;
  ClusterFlags cluster;
  ReportFlags report;
};

ExitCode Submit(const SubmitFlags& flags) {
  const absl::StatusOr<v1::JobSpec> spec = ReadJobInput(flags.file);
  if (!spec.ok()) return RefuseJob(spec.status(), flags.report);
  return RunOnCluster(*spec, flags.request_id, flags.watch ? AfterSubmit::kWatch : AfterSubmit::kReturn,
                      flags.cluster, flags.report);
}

struct WatchFlags {
  std::string job;
  ClusterFlags cluster;
  ReportFlags report;
};

}  // namespace

void AddSubmitCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<SubmitFlags>();
  CLI::App* command = app->add_subcommand("submit", "send a job to a cluster");
  command->add_option("job", flags->file, "job file, text format or JSON; - reads standard input")
      ->type_name("FILE")
      ->required();
  CLI::Option* watch = command->add_flag(
      "--watch", flags->watch, "follow the job; exit 0 if it succeeds, 1 if it fails or is cancelled");
  command
      ->add_option("--request_id", flags->request_id,
                   "name of this submission: the same one twice is one job (default: random)")
      ->type_name("ID");
  DeclareClusterFlags(command, &flags->cluster);
  DeclareReportFlags(command, &flags->report);
  command->get_option("--summary")->needs(watch);
  command->callback([flags, action] { *action = [flags] { return Submit(*flags); }; });
}

void AddWatchCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<WatchFlags>();
  CLI::App* command =
      app->add_subcommand("watch", "follow a job from its beginning; exits as submit --watch does");
  command->add_option("job", flags->job, "its id (default: the newest job)")->type_name("JOB");
  DeclareClusterFlags(command, &flags->cluster);
  DeclareReportFlags(command, &flags->report);
  command->callback(
      [flags, action] { *action = [flags] { return WatchJob(flags->job, flags->cluster, flags->report); }; });
}

}  // namespace lockstep

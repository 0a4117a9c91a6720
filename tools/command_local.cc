// lockstep local
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/job_input.h"
#include "tools/run_job.h"

namespace lockstep {
namespace {

struct Flags {
  std::string file;
  LocalFlags local;
  ReportFlags report;
};

ExitCode Run(const Flags& flags) {
  const absl::StatusOr<v1::JobSpec> spec = ReadJobInput(flags.file);
  if (!spec.ok()) return RefuseJob(spec.status(), flags.report);
  if (absl::Status checked = CheckJobInput(flags.file, *spec); !checked.ok())
    return RefuseJob(checked, flags.report);
  if (absl::Status checked = CheckJobOutputs(flags.file, *spec, flags.local.output_root); !checked.ok())
    return RefuseJob(checked, flags.report);
  return RunLocally(*spec, flags.local, flags.report);
}

}  // namespace

void AddLocalCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app->add_subcommand("local", "run a job on this machine: starts daemons, runs it, stops them");
  command->add_option("job", flags->file, "job file, text format or JSON; - reads standard input")
      ->type_name("FILE")
      ->required();
  DeclareLocalFlags(command, &flags->local);
  DeclareReportFlags(command, &flags->report);
  command->callback([flags, action] { *action = [flags] { return Run(*flags); }; });
}

}  // namespace lockstep

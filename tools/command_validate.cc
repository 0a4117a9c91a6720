// lockstep validate
#include <cstdio>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "tools/command.h"
#include "tools/job_input.h"
#include "tools/job_plan.h"
#include "tools/job_plan_text.h"
#include "worker/job_check.h"

namespace lockstep {
namespace {

constexpr int kMostWorkers = 4096;

struct Flags {
  std::string file;
  int workers = 1;
  std::string data_root;
  std::string output_root;
};

ExitCode Run(const Flags& flags) {
  const absl::StatusOr<v1::JobSpec> spec = ReadJobInput(flags.file);
  if (!spec.ok()) return Report(spec.status());
  if (absl::Status checked = CheckJobInput(flags.file, *spec); !checked.ok()) return Report(checked);
  if (absl::Status checked = CheckJobOutputs(flags.file, *spec, flags.output_root); !checked.ok())
    return Report(checked);
  const absl::StatusOr<JobPlan> plan = MakeJobPlan(*spec, flags.workers, flags.data_root);
  if (!plan.ok()) {
    Report(InJobInput(flags.file, plan.status()));
    // Whatever the code: what is wrong is in the job or in its data.
    return ExitCode::kBadUsage;
  }
  std::fputs(JobPlanText(*plan).c_str(), stdout);
  for (const std::string& warning : JobWarnings(*spec)) std::printf("Warning: %s\n", warning.c_str());
  return ExitCode::kSucceeded;
}

}  // namespace

void AddValidateCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app->add_subcommand(
      "validate", "check a job without a cluster; show its layers, memory, data and steps");
  command->add_option("job", flags->file, "job file, text format or JSON; - reads standard input")
      ->type_name("FILE")
      ->required();
  command->add_option("--workers", flags->workers, "ranks to plan for")
      ->type_name("N")
      ->check(CLI::Range(1, kMostWorkers))
      ->capture_default_str();
  command->add_option("--data_root", flags->data_root, "directory of the data (default: here)")
      ->type_name("DIR");
  command
      ->add_option("--output_root", flags->output_root,
                   "directory of checkpoints and predictions (default: here)")
      ->type_name("DIR");
  command->callback([flags, action] { *action = [flags] { return Run(*flags); }; });
}

}  // namespace lockstep

// lockstep evaluate, lockstep predict: a trained model on the rows of a job file.
#include <cstdio>
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
  v1::JobSpec::Task task;
  std::string file;
  std::string checkpoint;
  std::string output;
  bool on_this_machine = false;
  ClusterFlags cluster;
  LocalFlags local;
  ReportFlags report;
};

// The training job with another task.
absl::StatusOr<v1::JobSpec> MakeSpec(const Flags& flags) {
  absl::StatusOr<v1::JobSpec> spec = ReadJobInput(flags.file);
  if (!spec.ok()) return spec;
  spec->set_task(flags.task);
  if (!flags.checkpoint.empty()) spec->mutable_checkpoint()->set_directory(flags.checkpoint);
  if (!flags.output.empty()) spec->mutable_predict()->set_output(flags.output);
  if (absl::Status checked = CheckJobInput(flags.file, *spec); !checked.ok()) return checked;
  if (!flags.on_this_machine) return spec;
  if (absl::Status checked = CheckJobOutputs(flags.file, *spec, flags.local.output_root); !checked.ok())
    return checked;
  return spec;
}

ExitCode Run(const Flags& flags) {
  const absl::StatusOr<v1::JobSpec> spec = MakeSpec(flags);
  if (!spec.ok()) return RefuseJob(spec.status(), flags.report);
  const ExitCode code = flags.on_this_machine
                            ? RunLocally(*spec, flags.local, flags.report)
                            : RunOnCluster(*spec, "", AfterSubmit::kWatch, flags.cluster, flags.report);
  if (code == ExitCode::kSucceeded && flags.task == v1::JobSpec::PREDICT && !flags.report.json)
    std::printf("The predictions are in %s, below the output root.\n", spec->predict().output().c_str());
  return code;
}

std::shared_ptr<Flags> AddCommand(CLI::App* command, v1::JobSpec::Task task, Action* action) {
  auto flags = std::make_shared<Flags>();
  flags->task = task;
  command->add_option("job", flags->file, "job file of the training; - reads standard input")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "checkpoint directory below the output root (default: the job file's)")
      ->type_name("DIR");
  DeclareClusterFlags(command, &flags->cluster);
  DeclareLocalFlags(command, &flags->local);
  DeclareReportFlags(command, &flags->report);
  CLI::Option* workers = command->get_option("--workers");
  workers->description("run on so many daemons of this machine instead of a cluster")
      ->default_str("")
      ->excludes(command->get_option("--address"));
  for (const char* name : {"--data_root", "--output_root", "--lockstepd", "--logs"})
    command->get_option(name)->needs(workers);
  command->callback([=] {
    flags->on_this_machine = workers->count() > 0;
    *action = [flags] { return Run(*flags); };
  });
  return flags;
}

}  // namespace

void AddEvaluateCommand(CLI::App* app, Action* action) {
  AddCommand(app->add_subcommand("evaluate", "loss and metrics of a checkpoint on the validation rows"),
             v1::JobSpec::EVALUATE, action);
}

void AddPredictCommand(CLI::App* app, Action* action) {
  CLI::App* command =
      app->add_subcommand("predict", "outputs of a checkpoint for the validation rows, in row order");
  const std::shared_ptr<Flags> flags = AddCommand(command, v1::JobSpec::PREDICT, action);
  command
      ->add_option("--output", flags->output,
                   ".npy file below the output root (default: the job file's predict.output)")
      ->type_name("FILE");
}

}  // namespace lockstep

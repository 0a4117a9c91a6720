// lockstep export
#include <cstdio>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "tools/checkpoint_export.h"
#include "tools/command.h"

namespace lockstep {
namespace {

struct Flags {
  std::string checkpoint;
  std::string output;
  bool best = false;
};

ExitCode Run(const Flags& flags) {
  const absl::StatusOr<ExportResult> result = ExportCheckpoint(
      flags.checkpoint, flags.best ? WhichCheckpoint::kBest : WhichCheckpoint::kNewest, flags.output);
  if (!result.ok()) return Report(result.status());
  for (const std::string& skipped : result->skipped)
    std::fprintf(stderr, "lockstep: skipped a damaged checkpoint: %s\n", skipped.c_str());
  std::printf("%s: %lld tensors with %lld parameters of %s (step %lld)\n", flags.output.c_str(),
              static_cast<long long>(result->tensors), static_cast<long long>(result->elements),
              result->checkpoint.c_str(), static_cast<long long>(result->step));
  return ExitCode::kSucceeded;
}

}  // namespace

void AddExportCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app->add_subcommand("export", "write the model of a checkpoint to one file for other programs");
  command
      ->add_option("--checkpoint", flags->checkpoint, "checkpoint directory; its newest whole one is taken")
      ->type_name("DIR")
      ->required();
  command->add_flag("--best", flags->best, "take DIR/best instead of the newest");
  command->add_option("--output", flags->output, "file to write, .safetensors or .npz")
      ->type_name("FILE")
      ->required();
  command->callback([flags, action] { *action = [flags] { return Run(*flags); }; });
}

}  // namespace lockstep

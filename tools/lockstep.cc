// The command line. Exit codes: tools/exit_code.h.
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/process.h"
#include "base/quoted.h"
#include "tools/command.h"
#include "worker/identity.h"

namespace lockstep {
namespace {

// CLI11 would print its messages over several lines and end with codes of its own.
ExitCode RefuseUsage(const CLI::App& app, const CLI::ParseError& error, absl::string_view first_argument) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty() && !first_argument.empty() && first_argument[0] != '-') {
    return Report(absl::InvalidArgumentError(
        absl::StrCat("there is no command ", Quoted(first_argument), " (lockstep --help)")));
  }
  const std::string command = chosen.empty() ? "" : chosen[0]->get_name() + " ";
  return Report(absl::InvalidArgumentError(absl::StrCat(error.what(), " (lockstep ", command, "--help)")));
}

ExitCode Main(int argc, char** argv) {
  CLI::App app(
      "lockstep: trains on a cluster of lockstepd daemons.\n"
      "Exit codes: 0 succeeded, 1 the job failed or was cancelled, 2 a mistake in flags, files or the job,\n"
      "3 the cluster cannot be reached.",
      "lockstep");
  Action action;
  for (const auto add : {AddLocalCommand, AddValidateCommand, AddSubmitCommand, AddWatchCommand,
                         AddStatusCommand, AddJobsCommand, AddCancelCommand, AddClusterCommand,
                         AddEvaluateCommand, AddPredictCommand, AddExportCommand})
    add(&app, &action);
  app.require_subcommand(1);
  app.set_version_flag("--version", absl::StrCat("lockstep ", kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return static_cast<ExitCode>(app.exit(help));
  } catch (const CLI::ParseError& error) {
    return RefuseUsage(app, error, argc > 1 ? argv[1] : "");
  }
  if (absl::Status status = InitProcess(argv[0]); !status.ok()) return Report(status);
  return action();
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  return static_cast<int>(lockstep::CloseOutput(lockstep::Main(argc, argv)));
}

// The commands of `lockstep`. Each function adds one to the command line; when the user chose it, `action` is
// set to what it does.
#ifndef LOCKSTEP_TOOLS_COMMAND_H_
#define LOCKSTEP_TOOLS_COMMAND_H_

#include <functional>

#include "tools/exit_code.h"

namespace CLI {
class App;
}  // namespace CLI

namespace lockstep {

using Action = std::function<ExitCode()>;

void AddLocalCommand(CLI::App* app, Action* action);
void AddValidateCommand(CLI::App* app, Action* action);
void AddSubmitCommand(CLI::App* app, Action* action);
void AddWatchCommand(CLI::App* app, Action* action);
void AddStatusCommand(CLI::App* app, Action* action);
void AddJobsCommand(CLI::App* app, Action* action);
void AddCancelCommand(CLI::App* app, Action* action);
void AddClusterCommand(CLI::App* app, Action* action);
void AddEvaluateCommand(CLI::App* app, Action* action);
void AddPredictCommand(CLI::App* app, Action* action);
void AddExportCommand(CLI::App* app, Action* action);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_COMMAND_H_

// How the command line ends: what scripts rely on, and where errors become one line on standard error.
#ifndef LOCKSTEP_TOOLS_EXIT_CODE_H_
#define LOCKSTEP_TOOLS_EXIT_CODE_H_

#include "absl/status/status.h"

namespace lockstep {

// 4 is reserved for preempted jobs.
enum class ExitCode {
  kSucceeded = 0,
  kJobFailed = 1,    // or was cancelled
  kBadUsage = 2,     // flags, files or the specification, also if the server is the one that refuses it
  kUnreachable = 3,  // no cluster, or it was lost while the job ran
};

// What a failed call means for the user: who has to change something.
ExitCode ExitCodeOf(const absl::Status& status);

// Prints "lockstep: MESSAGE" to standard error, in one line, and returns ExitCodeOf(status).
ExitCode Report(const absl::Status& status);

// To be called at the end: `code`, but kBadUsage with a message if that is kSucceeded and not all of standard
// output could be written.
ExitCode CloseOutput(ExitCode code);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_EXIT_CODE_H_

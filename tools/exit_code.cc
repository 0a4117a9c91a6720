#include "tools/exit_code.h"

#include <cstdio>
#include <string>

namespace lockstep {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kSucceeded;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return ExitCode::kBadUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kUnreachable;
    default:
      return ExitCode::kJobFailed;
  }
}

ExitCode Report(const absl::Status& status) {
  std::string line(status.message());
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  std::fprintf(stderr, "lockstep: %s\n", line.c_str());
  return ExitCodeOf(status);
}

ExitCode CloseOutput(ExitCode code) {
  // What the system said to an earlier write is not known any more.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  Report(absl::UnknownError("cannot write all of standard output: is it closed, or its disk full?"));
  return code == ExitCode::kSucceeded ? ExitCode::kBadUsage : code;
}

}  // namespace lockstep

#include "tools/job_input.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/read_stream.h"
#include "base/status_macros.h"
#include "worker/job_check.h"
#include "worker/job_file.h"
#include "worker/output_path.h"

namespace lockstep {
namespace {

constexpr char kStandardInput[] = "-";
constexpr size_t kMostBytes = 16 << 20;

std::string Name(const std::string& path) { return path == kStandardInput ? "standard input" : path; }

}  // namespace

absl::StatusOr<v1::JobSpec> ReadJobInput(const std::string& path) {
  if (path != kStandardInput) return ReadJobFile(path);
  ASSIGN_OR_RETURN(const std::string text, ReadStream(STDIN_FILENO, Name(path), kMostBytes));
  return ParseJob(text, Name(path));
}

absl::Status CheckJobInput(const std::string& path, const v1::JobSpec& spec) {
  return InJobInput(path, CheckJob(spec));
}

absl::Status CheckJobOutputs(const std::string& path, const v1::JobSpec& spec,
                             const std::string& output_root) {
  return InJobInput(path, CheckOutputPaths(FileSystem::Posix(), output_root, spec));
}

absl::Status InJobInput(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Name(path), ": ", status.message()));
}

}  // namespace lockstep

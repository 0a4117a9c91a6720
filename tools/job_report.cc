#include "tools/job_report.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"
#include "tools/job_json.h"
#include "tools/json_view.h"
#include "tools/progress_view.h"

namespace lockstep {
namespace {

bool StandardOutputIsTerminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (terminal == nullptr || std::string(terminal) != "dumb");
}

ProgressView::Options ViewOptions() {
  ProgressView::Options options;
  options.terminal = StandardOutputIsTerminal();
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) options.width = size.ws_col;
  return options;
}

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A pipe or a device, such as /dev/stdout: to be written into, never replaced.
bool IsSpecialFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// Where a symbolic link leads to: the file behind it is replaced, not the link.
std::string FollowLinks(const std::string& path) {
  char target[PATH_MAX];
  return realpath(path.c_str(), target) != nullptr ? target : path;
}

absl::Status WriteInto(const std::string& path, const std::string& text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, FileSystem::Posix()->CreateFile(path));
  RETURN_IF_ERROR(file->Append(text));
  return file->Close();
}

}  // namespace

JobReport::JobReport(const ReportFlags& flags) : flags_(flags) {
  if (flags.json) {
    view_ = std::make_unique<JsonView>();
  } else {
    view_ = std::make_unique<ProgressView>(ViewOptions());
  }
}

absl::Status JobReport::CheckSummaryFile() const {
  if (flags_.summary.empty() || IsSpecialFile(flags_.summary)) return absl::OkStatus();
  if (IsDirectory(flags_.summary))
    return absl::InvalidArgumentError(absl::StrCat("--summary ", flags_.summary, ": is a directory"));
  const std::string parent = ParentDirectory(FollowLinks(flags_.summary));
  if (access(parent.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("--summary ", flags_.summary, ": ", parent));
}

void JobReport::ShowSubmitted(const v1::SubmitResponse& response) {
  if (flags_.json) return Print(SubmittedJson(response) + "\n");
  Print(absl::StrCat("job ", response.job_id(), "\n"));
  for (const std::string& warning : response.warnings()) Print(absl::StrCat("warning: ", warning, "\n"));
}

void JobReport::Show(const v1::JobEvent& event) { Print(view_->Show(event)); }

ExitCode JobReport::Finish(const absl::Status& status, v1::JobSummary summary) {
  Print(view_->Close());
  const ExitCode code = ShowOutcome(status, summary);
  if (!status.ok() && summary.error().empty()) summary.set_error(std::string(status.message()));
  if (summary.state() == v1::JOB_STATE_UNSPECIFIED) summary.set_state(v1::FAILED);
  if (flags_.summary.empty()) return code;
  const absl::Status written = WriteSummary(summary);
  if (written.ok()) return code;
  const ExitCode not_written = Report(written);
  return code == ExitCode::kSucceeded ? not_written : code;
}

ExitCode JobReport::ShowOutcome(const absl::Status& status, const v1::JobSummary& summary) {
  if (!status.ok()) return Report(status);
  if (summary.state() == v1::SUCCEEDED) return ExitCode::kSucceeded;
  // On a terminal the view has just said so.
  if (flags_.json || !StandardOutputIsTerminal()) {
    const std::string state = absl::AsciiStrToLower(v1::JobState_Name(summary.state()));
    Report(absl::AbortedError(
        absl::StrCat("the job ", state == "failed" ? state : "was " + state, ": ", summary.error())));
  }
  return ExitCode::kJobFailed;
}

absl::Status JobReport::WriteSummary(const v1::JobSummary& summary) const {
  const std::string text = SummaryJson(summary) + "\n";
  if (IsSpecialFile(flags_.summary)) return WriteInto(flags_.summary, text);
  return ReplaceFile(FileSystem::Posix(), FollowLinks(flags_.summary), text);
}

}  // namespace lockstep

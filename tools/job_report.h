// What the user gets to see of a job: events on standard output, errors on standard error, the summary file,
// the exit code.
#ifndef LOCKSTEP_TOOLS_JOB_REPORT_H_
#define LOCKSTEP_TOOLS_JOB_REPORT_H_

#include <memory>

#include "absl/status/status.h"
#include "proto/trainer.pb.h"
#include "tools/event_view.h"
#include "tools/exit_code.h"
#include "tools/flags.h"

namespace lockstep {

class JobReport {
 public:
  explicit JobReport(const ReportFlags& flags);

  // Whether the summary can be written, so that nobody learns at the end of a long job that it cannot.
  absl::Status CheckSummaryFile() const;

  void ShowSubmitted(const v1::SubmitResponse& response);
  void Show(const v1::JobEvent& event);

  // Ends the report. `status` is OK if the job has ended, as `summary` says; else why that is not known, and
  // `summary` is what is known. A job that never came to be is FAILED in the summary file.
  ExitCode Finish(const absl::Status& status, v1::JobSummary summary);

 private:
  ExitCode ShowOutcome(const absl::Status& status, const v1::JobSummary& summary);
  absl::Status WriteSummary(const v1::JobSummary& summary) const;

  const ReportFlags flags_;
  std::unique_ptr<EventView> view_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JOB_REPORT_H_

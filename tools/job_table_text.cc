#include "tools/job_table_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "proto/trainer.pb.h"
#include "tools/progress_line.h"
#include "tools/text_table.h"
#include "tools/time_report.h"

namespace lockstep {
namespace {

std::string Created(const v1::Job& job) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMillis(job.created_unix_ms()),
                          absl::LocalTimeZone());
}

}  // namespace

std::string JobsTable(const v1::ListJobsResponse& response) {
  if (response.jobs().empty()) return "no jobs\n";
  TextTable table({{"job"}, {"name"}, {"state"}, {"submitted"}, {"error"}});
  for (const v1::Job& job : response.jobs())
    table.AddRow({job.id(), job.name(), v1::JobState_Name(job.state()), Created(job), job.error()});
  return table.ToString();
}

std::string JobText(const v1::Job& job) {
  std::string text = absl::StrFormat("job %s (%s), submitted %s: %s", job.id(), job.name(), Created(job),
                                     v1::JobState_Name(job.state()));
  absl::StrAppend(&text, job.error().empty() ? "" : ": ", job.error(), "\n");
  const v1::JobSummary& summary = job.summary();
  if (summary.steps() > 0) {
    absl::StrAppendFormat(&text, "%d epochs, %d steps on %d ranks in %.1f s, %.0f rows/s\n", summary.epochs(),
                          summary.steps(), summary.world_size(), summary.seconds(),
                          summary.rows_per_second());
  }
  for (const v1::NamedValue& metric : summary.metrics())
    absl::StrAppend(&text, metric.name(), ": ", MetricText(metric.value()), "\n");
  return text + TimeReport(summary);
}

}  // namespace lockstep

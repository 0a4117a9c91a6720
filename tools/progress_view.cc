#include "tools/progress_view.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/trainer.pb.h"
#include "tools/progress_line.h"
#include "tools/time_report.h"

namespace lockstep {
namespace {

// Back to the first column; and clear what a longer line before left there.
constexpr char kRewrite[] = "\r";
constexpr char kClearRest[] = "\x1b[K";

// The value that a script would read, to the last digit.
std::string ExactMetrics(const v1::JobSummary& summary) {
  std::string text;
  for (const v1::NamedValue& metric : summary.metrics())
    absl::StrAppendFormat(&text, "%s: %.17g\n", metric.name(), metric.value());
  return text;
}

std::string CheckpointText(const v1::JobSummary& summary) {
  if (summary.checkpoints() == 0) return "";
  return absl::StrFormat("%d checkpoint%s; training stood still for %.2f s\n", summary.checkpoints(),
                         summary.checkpoints() == 1 ? "" : "s", summary.checkpoint_stall_seconds());
}

std::string FitText(const v1::JobSummary& summary) {
  return absl::StrFormat("SUCCEEDED: %d epochs, %d steps in %.1f s, %.0f rows/s, parameters %s\n%s",
                         summary.epochs(), summary.steps(), summary.seconds(), summary.rows_per_second(),
                         summary.parameter_hash(), CheckpointText(summary));
}

std::string SuccessText(const v1::JobSummary& summary) {
  if (summary.evaluated_rows() == 0) return FitText(summary);
  return absl::StrFormat("SUCCEEDED: %d rows in %.1f s\n%s", summary.evaluated_rows(), summary.seconds(),
                         ExactMetrics(summary));
}

}  // namespace

ProgressView::ProgressView(const Options& options)
    : options_(options), summary_(std::make_unique<v1::JobSummary>()) {}

ProgressView::~ProgressView() = default;

std::string ProgressView::Show(const v1::JobEvent& event) {
  switch (event.kind_case()) {
    case v1::JobEvent::kState:
      return ShowState(event.state());
    case v1::JobEvent::kFitBegin:
      epochs_ = event.fit_begin().epochs();
      return Below(FitBeginLine(event.fit_begin()));
    case v1::JobEvent::kProgress:
      return ShowProgress(event.progress());
    case v1::JobEvent::kEpochEnd:
      return ShowEpochEnd(event.epoch_end());
    case v1::JobEvent::kMessage:
      return Below(event.message());
    case v1::JobEvent::kSummary:
      *summary_ = event.summary();
      return "";
    case v1::JobEvent::KIND_NOT_SET:
      return "";
  }
  return "";
}

std::string ProgressView::Close() {
  if (!line_is_open_) return "";
  line_is_open_ = false;
  return "\n";
}

std::string ProgressView::Below(const std::string& text) { return absl::StrCat(Close(), text, "\n"); }

std::string ProgressView::ShowState(const v1::StateChange& state) {
  switch (state.state()) {
    case v1::QUEUED:
      return Below("queued");
    case v1::STARTING:
      return Below("starting: waits for all ranks");
    case v1::SUCCEEDED:
    case v1::FAILED:
    case v1::CANCELLED:
      return absl::StrCat(Close(), ShowEnd(state));
    default:
      return "";
  }
}

std::string ProgressView::ShowEnd(const v1::StateChange& state) const {
  // What went wrong comes first: the rest is only of use to those who know it.
  const std::string outcome = state.state() == v1::SUCCEEDED
                                  ? SuccessText(*summary_)
                                  : absl::StrCat(v1::JobState_Name(state.state()), ": ", state.error(), "\n");
  return absl::StrCat(outcome, TimeReport(*summary_));
}

std::string ProgressView::EpochHead(int64_t epoch, int64_t epochs) {
  if (epoch <= headed_epoch_) return "";
  headed_epoch_ = epoch;
  return Below(absl::StrFormat("Epoch %d/%d", epoch, epochs));
}

std::string ProgressView::ShowProgress(const v1::Progress& progress) {
  // Progress is not ordered against the other events: it may be older than the end of its epoch.
  if (!options_.terminal || progress.epoch() <= ended_epoch_) return "";
  const std::string head = EpochHead(progress.epoch(), epochs_);
  line_is_open_ = true;
  return absl::StrCat(head, kRewrite, ProgressLine(progress, options_.width), kClearRest);
}

std::string ProgressView::ShowEpochEnd(const v1::EpochEnd& end) {
  ended_epoch_ = end.epoch();
  if (!options_.terminal) return EpochLogLine(end) + "\n";
  const std::string head = EpochHead(end.epoch(), end.epochs());
  line_is_open_ = false;
  return absl::StrCat(head, kRewrite, EpochEndLine(end, options_.width), kClearRest, "\n");
}

}  // namespace lockstep

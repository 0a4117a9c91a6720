#include "tools/progress_line.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/trainer.pb.h"

namespace lockstep {
namespace {

// Keras's bar is 30 wide; a shorter one than 8 shows nothing.
constexpr int kBarWidth = 30;
constexpr int kLeastBarWidth = 8;
// So many shares are written one by one.
constexpr size_t kMostSingleShares = 8;

// `step` and `steps` come from the wire: any number must do.
std::string Bar(int64_t step, int64_t steps, int width) {
  const double part = steps > 0 ? static_cast<double>(step) / static_cast<double>(steps) : 1;
  const int done = static_cast<int>(std::clamp(part, 0.0, 1.0) * width);
  std::string bar(width, '.');
  std::fill(bar.begin(), bar.begin() + done, '=');
  if (done > 0 && done < width) bar[done - 1] = '>';
  return absl::StrCat("[", bar, "]");
}

std::string Counter(int64_t step, int64_t steps) {
  const std::string total = absl::StrCat(steps);
  return absl::StrFormat("%*d/%s", static_cast<int>(total.size()), step, total);
}

// With a bar as long as there is room for; without one if that is too short.
std::string WithBar(int64_t step, int64_t steps, const std::string& rest, int width) {
  const std::string counter = Counter(step, steps);
  // The counter, a blank, two brackets and the last column, which stays free: some terminals wrap there.
  const int room = width - static_cast<int>(counter.size() + rest.size()) - 4;
  if (room < kLeastBarWidth) return counter + rest;
  return absl::StrCat(counter, " ", Bar(step, steps, std::min(room, kBarWidth)), rest);
}

template <typename Metrics>
std::string MetricsText(const Metrics& metrics) {
  std::string text;
  for (const v1::NamedValue& metric : metrics)
    absl::StrAppend(&text, " - ", metric.name(), ": ", MetricText(metric.value()));
  return text;
}

// As Keras writes the time that is left.
std::string EtaText(double seconds) {
  const auto whole = static_cast<int64_t>(std::isnan(seconds) ? 0 : std::clamp(seconds, 0.0, 1e9) + 0.5);
  if (whole >= 3600) return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
  if (whole >= 60) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%ds", whole);
}

std::string StepTimeText(double seconds) {
  if (seconds >= 1) return absl::StrFormat("%.1fs/step", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.0fms/step", seconds * 1e3);
  return absl::StrFormat("%.0fus/step", seconds * 1e6);
}

std::string EpochText(const v1::EpochEnd& end) {
  const double step_seconds = end.steps() > 0 ? end.seconds() / static_cast<double>(end.steps()) : 0;
  return absl::StrFormat(" - %s %s%s - %.0f rows/s",
                         absl::StrFormat("%.*fs", end.seconds() < 10 ? 1 : 0, end.seconds()),
                         StepTimeText(step_seconds), MetricsText(end.metrics()), end.rows_per_second());
}

std::string RunsText(const std::vector<int64_t>& shares) {
  std::vector<std::string> runs;
  for (size_t begin = 0, end = 0; begin < shares.size(); begin = end) {
    while (end < shares.size() && shares[end] == shares[begin]) ++end;
    runs.push_back(absl::StrCat(end - begin, " x ", shares[begin]));
  }
  return absl::StrJoin(runs, " + ");
}

}  // namespace

std::string MetricText(double value) {
  if (value == 0 || !std::isfinite(value) || std::abs(value) >= 1e-3) return absl::StrFormat("%.4f", value);
  return absl::StrFormat("%.4e", value);
}

std::string SharesText(const std::vector<int64_t>& shares) {
  return shares.size() <= kMostSingleShares ? absl::StrJoin(shares, "+") : RunsText(shares);
}

std::string FitBeginLine(const v1::FitBegin& begin) {
  std::string line = absl::StrFormat(
      "training %d parameters: %d epochs of %d steps, global batch %d = %s over %d %s, %d rows",
      begin.parameters(), begin.epochs(), begin.steps_per_epoch(), begin.global_batch(),
      SharesText({begin.shares().begin(), begin.shares().end()}), begin.world_size(),
      begin.world_size() == 1 ? "rank" : "ranks", begin.train_rows());
  if (begin.validation_rows() > 0) absl::StrAppend(&line, " and ", begin.validation_rows(), " to validate");
  absl::StrAppend(&line, ", seed ", begin.seed());
  if (begin.first_epoch() > 0) absl::StrAppend(&line, "; goes on after epoch ", begin.first_epoch());
  return line;
}

std::string ProgressLine(const v1::Progress& progress, int width) {
  const std::string rest = absl::StrFormat(" - ETA %s%s - %.0f rows/s", EtaText(progress.eta_seconds()),
                                           MetricsText(progress.metrics()), progress.rows_per_second());
  const std::string line = WithBar(progress.step(), progress.steps_per_epoch(), rest, width);
  return line.substr(0, std::max(0, width - 1));
}

std::string EpochEndLine(const v1::EpochEnd& end, int width) {
  return WithBar(end.steps(), end.steps(), EpochText(end), width);
}

std::string EpochLogLine(const v1::EpochEnd& end) {
  return absl::StrFormat("Epoch %d/%d%s", end.epoch(), end.epochs(), EpochText(end));
}

}  // namespace lockstep

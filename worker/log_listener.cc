#include "worker/log_listener.h"

#include <string>

#include "absl/strings/str_format.h"
#include "base/logging.h"
#include "proto/trainer.pb.h"

namespace lockstep {

void LogListener::OnFitBegin(const v1::FitBegin& begin) {
  LOG(INFO) << absl::StrFormat(
      "fit: %d parameters, %d ranks, global batch %d, %d steps per epoch, %d epochs, seed %d",
      begin.parameters(), begin.world_size(), begin.global_batch(), begin.steps_per_epoch(), begin.epochs(),
      begin.seed());
}

void LogListener::OnEpochEnd(const v1::EpochEnd& end) {
  std::string metrics;
  for (const v1::NamedValue& metric : end.metrics())
    absl::StrAppendFormat(&metrics, " %s=%.4f", metric.name(), metric.value());
  LOG(INFO) << absl::StrFormat("epoch %d/%d%s rows_per_s=%.0f", end.epoch(), end.epochs(), metrics,
                               end.rows_per_second());
}

void LogListener::OnMessage(absl::string_view message) { LOG(INFO) << message; }

}  // namespace lockstep

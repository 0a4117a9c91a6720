#include "worker/metric_watch.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"

namespace lockstep {
namespace {

double WorstValue(MetricWatch::Direction direction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return direction == MetricWatch::Direction::kMin ? kInfinity : -kInfinity;
}

}  // namespace

MetricWatch::Direction MetricWatch::DirectionOf(absl::string_view metric) {
  if (absl::StrContains(metric, "acc")) return Direction::kMax;
  for (absl::string_view name : {"auc", "precision", "recall", "f1_score", "r2_score", "cosine_similarity"}) {
    if (absl::EndsWith(metric, name)) return Direction::kMax;
  }
  return Direction::kMin;
}

MetricWatch::MetricWatch(std::string metric, Direction direction, double min_delta)
    : metric_(std::move(metric)),
      direction_(direction),
      min_delta_(min_delta),
      best_(WorstValue(direction)) {}

bool MetricWatch::Observe(int64_t epoch, double value) {
  ++epochs_without_improvement_;
  const bool improved =
      direction_ == Direction::kMin ? value + min_delta_ < best_ : value - min_delta_ > best_;
  if (!improved) return false;
  best_ = value;
  best_epoch_ = epoch;
  epochs_without_improvement_ = 0;
  return true;
}

void MetricWatch::Restore(double best, int64_t best_epoch, int64_t epochs_without_improvement) {
  best_ = best_epoch == 0 ? WorstValue(direction_) : best;
  best_epoch_ = best_epoch;
  epochs_without_improvement_ = epochs_without_improvement;
}

}  // namespace lockstep

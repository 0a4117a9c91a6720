// The float64 numbers that every step reduces beside the gradients.
//
// HEAD, in front of the first bucket: what the step means (weight, loss, metrics, whether something is not
// finite). TAIL, behind the last bucket: how the step went (timings). Both are sums over ranks, so every
// decision taken from them is the same everywhere.
#ifndef LOCKSTEP_WORKER_STEP_TOTALS_H_
#define LOCKSTEP_WORKER_STEP_TOTALS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

class StepTotals {
 public:
  explicit StepTotals(size_t num_metrics) : values_(kMetrics + 2 * num_metrics + kTailSize) {}

  void Clear() { values_.assign(values_.size(), 0.0); }

  double& weight() { return values_[0]; }
  double weight() const { return values_[0]; }
  double& loss_sum() { return values_[1]; }
  double loss_sum() const { return values_[1]; }
  // Ranks whose own loss is not finite, and the sum of their numbers: if it is one, that is its name.
  double& non_finite_ranks() { return values_[2]; }
  double& non_finite_rank_sum() { return values_[3]; }
  double& numerator(size_t metric) { return values_[kMetrics + 2 * metric]; }
  double numerator(size_t metric) const { return values_[kMetrics + 2 * metric]; }
  double& denominator(size_t metric) { return values_[kMetrics + 2 * metric + 1]; }
  double denominator(size_t metric) const { return values_[kMetrics + 2 * metric + 1]; }
  size_t num_metrics() const { return (values_.size() - kMetrics - kTailSize) / 2; }

  double& input_seconds() { return values_[values_.size() - 2]; }
  double& compute_seconds() { return values_[values_.size() - 1]; }

  absl::Span<double> head() { return absl::MakeSpan(values_).subspan(0, values_.size() - kTailSize); }
  absl::Span<double> tail() { return absl::MakeSpan(values_).subspan(values_.size() - kTailSize); }
  // Head and tail are neighbours: what a step with a single bucket sends.
  absl::Span<double> all() { return absl::MakeSpan(values_); }
  absl::Span<const double> all() const { return values_; }

  void Add(const StepTotals& other) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  }

 private:
  static constexpr size_t kMetrics = 4;
  static constexpr size_t kTailSize = 2;

  std::vector<double> values_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_STEP_TOTALS_H_

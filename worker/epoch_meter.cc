#include "worker/epoch_meter.h"

#include <algorithm>

namespace lockstep {
namespace {

double Quotient(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

}  // namespace

NamedValues MetricValues(const StepTotals& totals, const std::vector<std::string>& metric_names,
                         double regularization) {
  NamedValues values;
  values.emplace_back("loss", Quotient(totals.loss_sum(), totals.weight()) + regularization);
  for (size_t i = 0; i < metric_names.size(); ++i)
    values.emplace_back(metric_names[i], Quotient(totals.numerator(i), totals.denominator(i)));
  return values;
}

void EpochMeter::Begin(absl::Time now, int64_t first_step, int64_t steps, const StepTotals& resumed) {
  totals_ = resumed;
  begin_ = now;
  rows_ = 0;
  steps_done_ = 0;
  steps_left_ = steps - first_step;
}

void EpochMeter::AddStep(const StepTotals& step) {
  totals_.Add(step);
  rows_ += step.weight();
  ++steps_done_;
  --steps_left_;
}

double EpochMeter::Seconds(absl::Time now) const {
  return std::max(absl::ToDoubleSeconds(now - begin_), 1e-9);
}

double EpochMeter::RowsPerSecond(absl::Time now) const { return rows_ / Seconds(now); }

double EpochMeter::EtaSeconds(absl::Time now) const {
  if (steps_done_ == 0) return 0;
  return Seconds(now) / static_cast<double>(steps_done_) * static_cast<double>(steps_left_);
}

}  // namespace lockstep

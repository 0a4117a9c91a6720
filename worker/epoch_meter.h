// Turns reduced totals into the values users know (loss, accuracy, rows per second, ETA). One-thread.
#ifndef LOCKSTEP_WORKER_EPOCH_METER_H_
#define LOCKSTEP_WORKER_EPOCH_METER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "worker/step_totals.h"

namespace lockstep {

using NamedValues = std::vector<std::pair<std::string, double>>;

// loss = (loss sum) / weight + `regularization`, metric = numerator / denominator; 0 where there were no
// rows.
NamedValues MetricValues(const StepTotals& totals, const std::vector<std::string>& metric_names,
                         double regularization);

class EpochMeter {
 public:
  explicit EpochMeter(size_t num_metrics) : totals_(num_metrics) {}

  // `resumed` are totals of the epoch's earlier steps, taken before an interruption.
  void Begin(absl::Time now, int64_t first_step, int64_t steps, const StepTotals& resumed);
  void AddStep(const StepTotals& step);

  const StepTotals& totals() const { return totals_; }
  double Seconds(absl::Time now) const;
  // Rows of this life of the job; the resumed steps' rows do not count.
  double RowsPerSecond(absl::Time now) const;
  double EtaSeconds(absl::Time now) const;
  double rows() const { return rows_; }

 private:
  StepTotals totals_;
  absl::Time begin_;
  double rows_ = 0;
  int64_t steps_done_ = 0;
  int64_t steps_left_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_EPOCH_METER_H_

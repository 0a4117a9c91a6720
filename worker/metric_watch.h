// Watches one metric from epoch to epoch: is it better than all before, and for how many epochs was it not?
// What early stopping, the plateau rule and the best checkpoint have in common.
//
// Source: keras/src/callbacks/monitor_callback.py of Keras 3. A value that is not a number never improves.
#ifndef LOCKSTEP_WORKER_METRIC_WATCH_H_
#define LOCKSTEP_WORKER_METRIC_WATCH_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

class MetricWatch {
 public:
  enum class Direction { kMin, kMax };  // which way the metric improves

  // kMax for accuracies and other metrics that Keras maximises, by name; kMin for everything else.
  static Direction DirectionOf(absl::string_view metric);

  // An improvement is one by more than `min_delta`, at least 0.
  MetricWatch(std::string metric, Direction direction, double min_delta);

  // Counts an epoch; returns whether its value is an improvement, which it then is measured by.
  bool Observe(int64_t epoch, double value);

  const std::string& metric() const { return metric_; }
  bool has_best() const { return best_epoch_ != 0; }
  double best() const { return best_; }               // while !has_best(): infinitely bad
  int64_t best_epoch() const { return best_epoch_; }  // 0 while there is none
  int64_t epochs_without_improvement() const { return epochs_without_improvement_; }

  // Patience begins anew; the best value stays.
  void ForgetWait() { epochs_without_improvement_ = 0; }

  // Goes on from what the accessors said. `best_epoch` of 0: there is no best yet.
  void Restore(double best, int64_t best_epoch, int64_t epochs_without_improvement);

 private:
  std::string metric_;
  Direction direction_;
  double min_delta_;
  double best_;
  int64_t best_epoch_ = 0;
  int64_t epochs_without_improvement_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_METRIC_WATCH_H_

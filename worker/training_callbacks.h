// What is decided at the end of each epoch: early stopping, a smaller learning rate on a plateau, and
// whether the epoch is the best so far. Keras's EarlyStopping, ReduceLROnPlateau and
// ModelCheckpoint(save_best_only=True).
//
// A state machine without clock, files or network. It sees reduced metrics only, so all ranks decide alike;
// its state goes into checkpoints, so a resumed job decides as the undisturbed one. One thread at a time.
#ifndef LOCKSTEP_WORKER_TRAINING_CALLBACKS_H_
#define LOCKSTEP_WORKER_TRAINING_CALLBACKS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/metric_watch.h"

namespace lockstep {

namespace v1 {
class CallbackState;
class Checkpoint;
class Fit;
}  // namespace v1

struct EpochDecision {
  bool stop = false;                     // early stopping: this epoch was the last
  bool is_best = false;                  // keep_best's metric improved: save this epoch as the best
  bool early_stopping_improved = false;  // the weights to go back to, if restore_best_weights is set
  double learning_rate_scale = 1;        // of the next epochs: product of all reductions so far
  std::string reason;                    // for people, one line; empty if nothing was decided
};

class TrainingCallbacks {
 public:
  // `metric_names`: the metrics of each epoch ("loss", "accuracy", "val_loss", ...).
  // Errors: INVALID_ARGUMENT: a monitor that is not among them (they are listed); a number out of range.
  static absl::StatusOr<std::unique_ptr<TrainingCallbacks>> Create(
      const v1::Fit& fit, const v1::Checkpoint& checkpoint, const std::vector<std::string>& metric_names);

  // `epoch` counts completed epochs: 1 after the first. `current_learning_rate` is the one of its last
  // step, all reductions included.
  EpochDecision OnEpochEnd(int64_t epoch, const std::map<std::string, double>& metrics,
                           double current_learning_rate);

  v1::CallbackState state() const;
  void Restore(const v1::CallbackState& state);

 private:
  struct EarlyStoppingRule {
    MetricWatch watch;
    int64_t patience;
  };
  struct PlateauRule {
    MetricWatch watch;
    int64_t patience;
    double factor;
    int64_t cooldown;
    double min_lr;
    int64_t cooldown_left = 0;
  };

  TrainingCallbacks() = default;

  absl::Status AddEarlyStopping(const v1::Fit& fit, const std::vector<std::string>& metric_names);
  absl::Status AddPlateau(const v1::Fit& fit, const std::vector<std::string>& metric_names);
  absl::Status AddBest(const v1::Checkpoint& checkpoint, const std::vector<std::string>& metric_names);

  void RunEarlyStopping(int64_t epoch, double value, EpochDecision* decision);
  void RunPlateau(int64_t epoch, double value, double learning_rate, EpochDecision* decision);
  void ReduceLearningRate(double learning_rate, EpochDecision* decision);

  std::optional<EarlyStoppingRule> early_stopping_;
  std::optional<PlateauRule> plateau_;
  std::optional<MetricWatch> best_;
  bool stopped_ = false;
  double learning_rate_scale_ = 1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_TRAINING_CALLBACKS_H_

#include "worker/training_callbacks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"

namespace lockstep {
namespace {

// ReduceLROnPlateau's defaults in Keras 3.
constexpr double kDefaultFactor = 0.1;
constexpr int64_t kDefaultPlateauPatience = 10;
constexpr double kDefaultPlateauMinDelta = 1e-4;

absl::StatusOr<MetricWatch> MakeWatch(absl::string_view field, const std::string& monitor, v1::Mode mode,
                                      double min_delta, const std::vector<std::string>& metric_names) {
  const std::string metric = monitor.empty() ? "val_loss" : monitor;
  if (std::find(metric_names.begin(), metric_names.end(), metric) == metric_names.end()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ".monitor ", Quoted(metric), " is not one of ",
                                                   absl::StrJoin(metric_names, ", "),
                                                   " (those with val_ need data.validation)"));
  }
  if (!(min_delta >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(field, ".min_delta is ", min_delta, ", less than 0"));
  }
  if (mode == v1::MIN) return MetricWatch(metric, MetricWatch::Direction::kMin, min_delta);
  if (mode == v1::MAX) return MetricWatch(metric, MetricWatch::Direction::kMax, min_delta);
  return MetricWatch(metric, MetricWatch::DirectionOf(metric), min_delta);
}

absl::Status CheckNotNegative(absl::string_view field, double value) {
  if (value >= 0 && value <= std::numeric_limits<double>::max()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, ", must be at least 0"));
}

// The value of `metric`; one that is missing is not a number, which never improves.
double ValueOf(const std::map<std::string, double>& metrics, const std::string& metric) {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

std::string Epochs(int64_t count) { return absl::StrCat(count, count == 1 ? " epoch" : " epochs"); }

void AddReason(const std::string& reason, EpochDecision* decision) {
  absl::StrAppend(&decision->reason, decision->reason.empty() ? "" : "; ", reason);
}

v1::CallbackState::Watch ToProto(const MetricWatch& watch) {
  v1::CallbackState::Watch state;
  state.set_has_best(watch.has_best());
  if (watch.has_best()) state.set_best(watch.best());
  state.set_best_epoch(watch.best_epoch());
  state.set_epochs_since_best(watch.epochs_without_improvement());
  return state;
}

void FromProto(const v1::CallbackState::Watch& state, MetricWatch* watch) {
  watch->Restore(state.best(), state.has_best() ? state.best_epoch() : 0, state.epochs_since_best());
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingCallbacks>> TrainingCallbacks::Create(
    const v1::Fit& fit, const v1::Checkpoint& checkpoint, const std::vector<std::string>& metric_names) {
  std::unique_ptr<TrainingCallbacks> callbacks(new TrainingCallbacks);
  if (fit.has_early_stopping()) RETURN_IF_ERROR(callbacks->AddEarlyStopping(fit, metric_names));
  if (fit.has_reduce_lr_on_plateau()) RETURN_IF_ERROR(callbacks->AddPlateau(fit, metric_names));
  if (checkpoint.has_keep_best()) RETURN_IF_ERROR(callbacks->AddBest(checkpoint, metric_names));
  return callbacks;
}

absl::Status TrainingCallbacks::AddEarlyStopping(const v1::Fit& fit,
                                                 const std::vector<std::string>& metric_names) {
  const v1::EarlyStopping& spec = fit.early_stopping();
  RETURN_IF_ERROR(CheckNotNegative("fit.early_stopping.patience", static_cast<double>(spec.patience())));
  ASSIGN_OR_RETURN(MetricWatch watch, MakeWatch("fit.early_stopping", spec.monitor(), spec.mode(),
                                                spec.min_delta(), metric_names));
  early_stopping_ = EarlyStoppingRule{std::move(watch), spec.patience()};
  return absl::OkStatus();
}

absl::Status TrainingCallbacks::AddPlateau(const v1::Fit& fit, const std::vector<std::string>& metric_names) {
  const v1::ReduceLrOnPlateau& spec = fit.reduce_lr_on_plateau();
  const double factor = spec.has_factor() ? spec.factor() : kDefaultFactor;
  if (!(factor > 0 && factor < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("fit.reduce_lr_on_plateau.factor is ", factor, ", must be between 0 and 1"));
  }
  const int64_t patience = spec.has_patience() ? spec.patience() : kDefaultPlateauPatience;
  RETURN_IF_ERROR(CheckNotNegative("fit.reduce_lr_on_plateau.patience", static_cast<double>(patience)));
  RETURN_IF_ERROR(
      CheckNotNegative("fit.reduce_lr_on_plateau.cooldown", static_cast<double>(spec.cooldown())));
  RETURN_IF_ERROR(CheckNotNegative("fit.reduce_lr_on_plateau.min_lr", spec.min_lr()));
  ASSIGN_OR_RETURN(
      MetricWatch watch,
      MakeWatch("fit.reduce_lr_on_plateau", spec.monitor(), spec.mode(),
                spec.has_min_delta() ? spec.min_delta() : kDefaultPlateauMinDelta, metric_names));
  plateau_ = PlateauRule{std::move(watch), patience, factor, spec.cooldown(), spec.min_lr()};
  return absl::OkStatus();
}

absl::Status TrainingCallbacks::AddBest(const v1::Checkpoint& checkpoint,
                                        const std::vector<std::string>& metric_names) {
  const v1::KeepBest& spec = checkpoint.keep_best();
  ASSIGN_OR_RETURN(
      best_, MakeWatch("checkpoint.keep_best", spec.monitor(), spec.mode(), /*min_delta=*/0, metric_names));
  return absl::OkStatus();
}

EpochDecision TrainingCallbacks::OnEpochEnd(int64_t epoch, const std::map<std::string, double>& metrics,
                                            double current_learning_rate) {
  EpochDecision decision;
  if (best_.has_value()) decision.is_best = best_->Observe(epoch, ValueOf(metrics, best_->metric()));
  if (plateau_.has_value()) {
    RunPlateau(epoch, ValueOf(metrics, plateau_->watch.metric()), current_learning_rate, &decision);
  }
  if (early_stopping_.has_value()) {
    RunEarlyStopping(epoch, ValueOf(metrics, early_stopping_->watch.metric()), &decision);
  }
  decision.learning_rate_scale = learning_rate_scale_;
  return decision;
}

void TrainingCallbacks::RunEarlyStopping(int64_t epoch, double value, EpochDecision* decision) {
  MetricWatch& watch = early_stopping_->watch;
  decision->early_stopping_improved = watch.Observe(epoch, value);
  const int64_t waited = watch.epochs_without_improvement();
  // Keras never stops after the first epoch, whatever the patience.
  if (decision->early_stopping_improved || waited < early_stopping_->patience || epoch <= 1) return;
  stopped_ = true;
  decision->stop = true;
  AddReason(absl::StrFormat("early stopping: %s has not improved for %s (best %g in epoch %d)",
                            watch.metric(), Epochs(waited), watch.best(), watch.best_epoch()),
            decision);
}

void TrainingCallbacks::RunPlateau(int64_t epoch, double value, double learning_rate,
                                   EpochDecision* decision) {
  PlateauRule& rule = *plateau_;
  if (rule.cooldown_left > 0) --rule.cooldown_left;
  if (rule.watch.Observe(epoch, value)) return;
  if (rule.cooldown_left > 0) {
    // An epoch of the cooldown is not one of waiting, though its value could have been the best.
    rule.watch.ForgetWait();
    return;
  }
  if (rule.watch.epochs_without_improvement() < rule.patience || !(learning_rate > rule.min_lr)) return;
  ReduceLearningRate(learning_rate, decision);
}

void TrainingCallbacks::ReduceLearningRate(double learning_rate, EpochDecision* decision) {
  PlateauRule& rule = *plateau_;
  const int64_t waited = rule.watch.epochs_without_improvement();
  const double reduced = std::max(learning_rate * rule.factor, rule.min_lr);
  // By the factor itself where the floor is not reached: a quotient would add a rounding.
  learning_rate_scale_ *= reduced > rule.min_lr ? rule.factor : reduced / learning_rate;
  rule.cooldown_left = rule.cooldown;
  rule.watch.ForgetWait();
  AddReason(absl::StrFormat("plateau: %s has not improved for %s; learning rate %g -> %g",
                            rule.watch.metric(), Epochs(waited), learning_rate, reduced),
            decision);
}

v1::CallbackState TrainingCallbacks::state() const {
  v1::CallbackState state;
  if (early_stopping_.has_value()) *state.mutable_early_stopping() = ToProto(early_stopping_->watch);
  if (plateau_.has_value()) {
    *state.mutable_plateau() = ToProto(plateau_->watch);
    state.set_cooldown_left(plateau_->cooldown_left);
  }
  if (best_.has_value()) *state.mutable_best() = ToProto(*best_);
  state.set_stopped(stopped_);
  state.set_learning_rate_scale(learning_rate_scale_);
  return state;
}

void TrainingCallbacks::Restore(const v1::CallbackState& state) {
  if (early_stopping_.has_value()) FromProto(state.early_stopping(), &early_stopping_->watch);
  if (plateau_.has_value()) {
    FromProto(state.plateau(), &plateau_->watch);
    plateau_->cooldown_left = state.cooldown_left();
  }
  if (best_.has_value()) FromProto(state.best(), &*best_);
  stopped_ = state.stopped();
  learning_rate_scale_ = state.learning_rate_scale() > 0 ? state.learning_rate_scale() : 1;
}

}  // namespace lockstep

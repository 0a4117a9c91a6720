#include "model/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr double kPi = 3.14159265358979323846;

class ConstantRate final : public LearningRate {
 public:
  explicit ConstantRate(double rate) : rate_(rate) {}
  double At(int64_t) const override { return rate_; }

 private:
  const double rate_;
};

class ExponentialDecayRate final : public LearningRate {
 public:
  explicit ExponentialDecayRate(const v1::ExponentialDecay& spec)
      : initial_(spec.initial_learning_rate()),
        decay_steps_(static_cast<double>(spec.decay_steps())),
        decay_rate_(spec.decay_rate()),
        staircase_(spec.staircase()) {}

  double At(int64_t step) const override {
    const double decays = static_cast<double>(step) / decay_steps_;
    return initial_ * std::pow(decay_rate_, staircase_ ? std::floor(decays) : decays);
  }

 private:
  const double initial_;
  const double decay_steps_;
  const double decay_rate_;
  const bool staircase_;
};

// Without warm-up, the cosine begins at the initial rate; with it, at the target.
class CosineDecayRate final : public LearningRate {
 public:
  explicit CosineDecayRate(const v1::CosineDecay& spec)
      : initial_(spec.initial_learning_rate()),
        top_(spec.has_warmup_target() ? spec.warmup_target() : initial_),
        alpha_(spec.alpha()),
        warmup_steps_(spec.has_warmup_target() ? spec.warmup_steps() : 0),
        decay_steps_(spec.decay_steps()) {}

  double At(int64_t step) const override {
    if (step < warmup_steps_) {
      return initial_ + (top_ - initial_) * static_cast<double>(step) / static_cast<double>(warmup_steps_);
    }
    const int64_t decayed = std::min(step - warmup_steps_, decay_steps_);
    const double fraction = static_cast<double>(decayed) / static_cast<double>(decay_steps_);
    return top_ * ((1 - alpha_) * 0.5 * (1 + std::cos(kPi * fraction)) + alpha_);
  }

 private:
  const double initial_;
  const double top_;
  const double alpha_;
  const int64_t warmup_steps_;
  const int64_t decay_steps_;
};

class PiecewiseConstantRate final : public LearningRate {
 public:
  explicit PiecewiseConstantRate(const v1::PiecewiseConstant& spec)
      : boundaries_(spec.boundaries().begin(), spec.boundaries().end()),
        values_(spec.values().begin(), spec.values().end()) {}

  double At(int64_t step) const override {
    // A boundary itself still has the value before it.
    const auto interval = std::lower_bound(boundaries_.begin(), boundaries_.end(), step);
    return values_[static_cast<size_t>(interval - boundaries_.begin())];
  }

 private:
  const std::vector<int64_t> boundaries_;
  const std::vector<double> values_;
};

absl::Status CheckRate(const char* field, double rate) {
  if (std::isfinite(rate) && rate >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("learning_rate.", field, " is ", rate, ", but must be 0 or more"));
}

absl::Status CheckDecaySteps(const char* schedule, int64_t decay_steps) {
  if (decay_steps >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("learning_rate.", schedule, ".decay_steps is ", decay_steps, ", but must be at least 1"));
}

absl::Status Check(const v1::ExponentialDecay& spec) {
  RETURN_IF_ERROR(CheckRate("exponential_decay.initial_learning_rate", spec.initial_learning_rate()));
  RETURN_IF_ERROR(CheckRate("exponential_decay.decay_rate", spec.decay_rate()));
  return CheckDecaySteps("exponential_decay", spec.decay_steps());
}

absl::Status Check(const v1::CosineDecay& spec) {
  RETURN_IF_ERROR(CheckRate("cosine_decay.initial_learning_rate", spec.initial_learning_rate()));
  RETURN_IF_ERROR(CheckRate("cosine_decay.alpha", spec.alpha()));
  RETURN_IF_ERROR(CheckRate("cosine_decay.warmup_target", spec.warmup_target()));
  RETURN_IF_ERROR(CheckDecaySteps("cosine_decay", spec.decay_steps()));
  if (spec.warmup_steps() < 0 || (spec.warmup_steps() > 0 && !spec.has_warmup_target())) {
    return absl::InvalidArgumentError(absl::StrCat("learning_rate.cosine_decay.warmup_steps is ",
                                                   spec.warmup_steps(),
                                                   ", but must be 0 or more and needs a warmup_target"));
  }
  return absl::OkStatus();
}

absl::Status Check(const v1::PiecewiseConstant& spec) {
  if (spec.values_size() != spec.boundaries_size() + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("learning_rate.piecewise_constant has ", spec.boundaries_size(), " boundaries and ",
                     spec.values_size(), " values, but needs one more value than boundaries"));
  }
  for (double value : spec.values()) RETURN_IF_ERROR(CheckRate("piecewise_constant.values", value));
  if (spec.boundaries_size() > 0 && spec.boundaries(0) < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "learning_rate.piecewise_constant.boundaries are steps, but the first is ", spec.boundaries(0)));
  }
  for (int i = 1; i < spec.boundaries_size(); ++i) {
    if (spec.boundaries(i) > spec.boundaries(i - 1)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("learning_rate.piecewise_constant.boundaries must ascend, but ", spec.boundaries(i),
                     " follows ", spec.boundaries(i - 1)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LearningRate>> LearningRate::Create(const v1::LearningRate* spec,
                                                                   double default_rate) {
  switch (spec == nullptr ? v1::LearningRate::SCHEDULE_NOT_SET : spec->schedule_case()) {
    case v1::LearningRate::kConstant:
      RETURN_IF_ERROR(CheckRate("constant", spec->constant()));
      return std::make_unique<ConstantRate>(spec->constant());
    case v1::LearningRate::kExponentialDecay:
      RETURN_IF_ERROR(Check(spec->exponential_decay()));
      return std::make_unique<ExponentialDecayRate>(spec->exponential_decay());
    case v1::LearningRate::kCosineDecay:
      RETURN_IF_ERROR(Check(spec->cosine_decay()));
      return std::make_unique<CosineDecayRate>(spec->cosine_decay());
    case v1::LearningRate::kPiecewiseConstant:
      RETURN_IF_ERROR(Check(spec->piecewise_constant()));
      return std::make_unique<PiecewiseConstantRate>(spec->piecewise_constant());
    case v1::LearningRate::SCHEDULE_NOT_SET:
      break;
  }
  return std::make_unique<ConstantRate>(default_rate);
}

}  // namespace lockstep

#include "model/adam_optimizer.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/hyperparameter.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr double kDefaultLearningRate = 0.001;
constexpr double kDefaultWeightDecay = 0.004;

struct AdamOptions {
  double beta_1;
  double beta_2;
  float epsilon;
  bool amsgrad;
  double weight_decay;
};

// The fields that Adam and AdamW have in common.
template <typename Spec>
AdamOptions ReadOptions(const Spec& spec, double weight_decay) {
  return {spec.has_beta_1() ? AsWritten(spec.beta_1()) : 0.9,
          spec.has_beta_2() ? AsWritten(spec.beta_2()) : 0.999, spec.has_epsilon() ? spec.epsilon() : 1e-7f,
          spec.amsgrad(), weight_decay};
}

class Adam final : public Optimizer {
 public:
  Adam(const std::string& name, const AdamOptions& options, std::unique_ptr<LearningRate> learning_rate,
       const UpdateKernels& kernels)
      : Optimizer(name, Slots(options), std::move(learning_rate)), options_(options), kernels_(kernels) {}

 private:
  static std::vector<SlotSpec> Slots(const AdamOptions& options) {
    std::vector<SlotSpec> slots = {{"momentum", 0}, {"velocity", 0}};
    if (options.amsgrad) slots.push_back({"velocity_hat", 0});
    return slots;
  }

  void Update(int64_t step, double learning_rate, const UpdateBuffers& buffers) const override {
    // In double: 1 - 0.999^step has lost half its digits in float at the first steps.
    const double steps = static_cast<double>(step);
    const double correction =
        std::sqrt(1 - std::pow(options_.beta_2, steps)) / (1 - std::pow(options_.beta_1, steps));
    const AdamRule rule = {static_cast<float>(learning_rate * correction),
                           static_cast<float>(1 - options_.beta_1), static_cast<float>(1 - options_.beta_2),
                           options_.epsilon, static_cast<float>(learning_rate * options_.weight_decay)};
    options_.amsgrad ? kernels_.amsgrad({rule}, buffers) : kernels_.adam(rule, buffers);
  }

  const AdamOptions options_;
  const UpdateKernels& kernels_;
};

absl::StatusOr<std::unique_ptr<Optimizer>> Make(const std::string& name, const AdamOptions& options,
                                                const v1::LearningRate* learning_rate_spec,
                                                const UpdateKernels& kernels) {
  RETURN_IF_ERROR(CheckBelowOne(absl::StrCat(name, ".beta_1"), options.beta_1));
  RETURN_IF_ERROR(CheckBelowOne(absl::StrCat(name, ".beta_2"), options.beta_2));
  RETURN_IF_ERROR(CheckPositive(absl::StrCat(name, ".epsilon"), options.epsilon));
  RETURN_IF_ERROR(CheckNotNegative(absl::StrCat(name, ".weight_decay"), options.weight_decay));
  ASSIGN_OR_RETURN(auto learning_rate, LearningRate::Create(learning_rate_spec, kDefaultLearningRate));
  return std::make_unique<Adam>(name, options, std::move(learning_rate), kernels);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdam(const v1::Adam& spec, const UpdateKernels& kernels) {
  return Make("adam", ReadOptions(spec, 0), spec.has_learning_rate() ? &spec.learning_rate() : nullptr,
              kernels);
}

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdamW(const v1::AdamW& spec, const UpdateKernels& kernels) {
  const double weight_decay = spec.has_weight_decay() ? AsWritten(spec.weight_decay()) : kDefaultWeightDecay;
  return Make("adamw", ReadOptions(spec, weight_decay),
              spec.has_learning_rate() ? &spec.learning_rate() : nullptr, kernels);
}

}  // namespace lockstep

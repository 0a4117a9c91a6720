#include "model/adagrad_optimizer.h"

#include <utility>

#include "base/status_macros.h"
#include "model/hyperparameter.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr double kDefaultLearningRate = 0.001;

float InitialAccumulator(const v1::Adagrad& spec) {
  return spec.has_initial_accumulator_value() ? spec.initial_accumulator_value() : 0.1f;
}
float Epsilon(const v1::Adagrad& spec) { return spec.has_epsilon() ? spec.epsilon() : 1e-7f; }

class Adagrad final : public Optimizer {
 public:
  Adagrad(const v1::Adagrad& spec, std::unique_ptr<LearningRate> learning_rate, const UpdateKernels& kernels)
      : Optimizer("adagrad", {{"accumulator", InitialAccumulator(spec)}}, std::move(learning_rate)),
        epsilon_(Epsilon(spec)),
        kernels_(kernels) {}

 private:
  void Update(int64_t, double learning_rate, const UpdateBuffers& buffers) const override {
    kernels_.adagrad({static_cast<float>(learning_rate), epsilon_}, buffers);
  }

  const float epsilon_;
  const UpdateKernels& kernels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdagrad(const v1::Adagrad& spec,
                                                       const UpdateKernels& kernels) {
  RETURN_IF_ERROR(CheckNotNegative("adagrad.initial_accumulator_value", InitialAccumulator(spec)));
  RETURN_IF_ERROR(CheckPositive("adagrad.epsilon", Epsilon(spec)));
  ASSIGN_OR_RETURN(
      auto learning_rate,
      LearningRate::Create(spec.has_learning_rate() ? &spec.learning_rate() : nullptr, kDefaultLearningRate));
  return std::make_unique<Adagrad>(spec, std::move(learning_rate), kernels);
}

}  // namespace lockstep

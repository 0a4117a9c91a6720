#include "model/rmsprop_optimizer.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/hyperparameter.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr double kDefaultLearningRate = 0.001;

double Rho(const v1::RmsProp& spec) { return spec.has_rho() ? AsWritten(spec.rho()) : 0.9; }
float Epsilon(const v1::RmsProp& spec) { return spec.has_epsilon() ? spec.epsilon() : 1e-7f; }

class RmsProp final : public Optimizer {
 public:
  RmsProp(const v1::RmsProp& spec, std::unique_ptr<LearningRate> learning_rate, const UpdateKernels& kernels)
      : Optimizer("rmsprop", Slots(spec), std::move(learning_rate)),
        rho_(Rho(spec)),
        epsilon_(Epsilon(spec)),
        momentum_(spec.momentum()),
        centered_(spec.centered()),
        kernels_(kernels) {}

 private:
  static std::vector<SlotSpec> Slots(const v1::RmsProp& spec) {
    std::vector<SlotSpec> slots = {{"velocity", 0}};
    if (spec.momentum() != 0) slots.push_back({"momentum", 0});
    if (spec.centered()) slots.push_back({"average_gradient", 0});
    return slots;
  }

  void Update(int64_t, double learning_rate, const UpdateBuffers& buffers) const override {
    const RmsPropRule rule = {static_cast<float>(learning_rate), static_cast<float>(rho_),
                              static_cast<float>(1 - rho_), epsilon_, momentum_};
    if (centered_) {
      momentum_ == 0 ? kernels_.rmsprop_centered({rule}, buffers)
                     : kernels_.rmsprop_centered_momentum({rule}, buffers);
    } else {
      momentum_ == 0 ? kernels_.rmsprop(rule, buffers) : kernels_.rmsprop_momentum({rule}, buffers);
    }
  }

  const double rho_;
  const float epsilon_;
  const float momentum_;
  const bool centered_;
  const UpdateKernels& kernels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeRmsProp(const v1::RmsProp& spec,
                                                       const UpdateKernels& kernels) {
  RETURN_IF_ERROR(CheckBelowOne("rmsprop.rho", Rho(spec)));
  RETURN_IF_ERROR(CheckAtMostOne("rmsprop.momentum", spec.momentum()));
  RETURN_IF_ERROR(CheckPositive("rmsprop.epsilon", Epsilon(spec)));
  ASSIGN_OR_RETURN(
      auto learning_rate,
      LearningRate::Create(spec.has_learning_rate() ? &spec.learning_rate() : nullptr, kDefaultLearningRate));
  return std::make_unique<RmsProp>(spec, std::move(learning_rate), kernels);
}

}  // namespace lockstep

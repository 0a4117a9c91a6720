#include "model/sgd_optimizer.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/hyperparameter.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr double kDefaultLearningRate = 0.01;

class Sgd final : public Optimizer {
 public:
  Sgd(const v1::Sgd& spec, std::unique_ptr<LearningRate> learning_rate, const UpdateKernels& kernels)
      : Optimizer("sgd", Slots(spec), std::move(learning_rate)),
        momentum_(spec.momentum()),
        nesterov_(spec.nesterov()),
        kernels_(kernels) {}

 private:
  static std::vector<SlotSpec> Slots(const v1::Sgd& spec) {
    if (spec.momentum() == 0) return {};
    return {{"momentum", 0}};
  }

  void Update(int64_t, double learning_rate, const UpdateBuffers& buffers) const override {
    const float rate = static_cast<float>(learning_rate);
    if (momentum_ == 0) {
      kernels_.sgd({rate}, buffers);
    } else if (nesterov_) {
      kernels_.nesterov({rate, momentum_}, buffers);
    } else {
      kernels_.momentum({rate, momentum_}, buffers);
    }
  }

  const float momentum_;
  const bool nesterov_;
  const UpdateKernels& kernels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeSgd(const v1::Sgd& spec, const UpdateKernels& kernels) {
  RETURN_IF_ERROR(CheckAtMostOne("sgd.momentum", spec.momentum()));
  ASSIGN_OR_RETURN(
      auto learning_rate,
      LearningRate::Create(spec.has_learning_rate() ? &spec.learning_rate() : nullptr, kDefaultLearningRate));
  return std::make_unique<Sgd>(spec, std::move(learning_rate), kernels);
}

}  // namespace lockstep

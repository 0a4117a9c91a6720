// Stochastic gradient descent, plain, with momentum (Polyak 1964) or Nesterov's. Slot: momentum.
#ifndef LOCKSTEP_MODEL_SGD_OPTIMIZER_H_
#define LOCKSTEP_MODEL_SGD_OPTIMIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model/optimizer.h"

namespace lockstep {

namespace v1 {
class Sgd;
}  // namespace v1

absl::StatusOr<std::unique_ptr<Optimizer>> MakeSgd(const v1::Sgd& spec, const UpdateKernels& kernels);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_SGD_OPTIMIZER_H_

// Adagrad (Duchi et al. 2011). Slot: accumulator.
#ifndef LOCKSTEP_MODEL_ADAGRAD_OPTIMIZER_H_
#define LOCKSTEP_MODEL_ADAGRAD_OPTIMIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model/optimizer.h"

namespace lockstep {

namespace v1 {
class Adagrad;
}  // namespace v1

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdagrad(const v1::Adagrad& spec, const UpdateKernels& kernels);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_ADAGRAD_OPTIMIZER_H_

// RMSprop (Hinton 2012, lecture 6e), with epsilon inside the root as in Keras. Slots: velocity and, when
// asked for, momentum and average_gradient.
#ifndef LOCKSTEP_MODEL_RMSPROP_OPTIMIZER_H_
#define LOCKSTEP_MODEL_RMSPROP_OPTIMIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model/optimizer.h"

namespace lockstep {

namespace v1 {
class RmsProp;
}  // namespace v1

absl::StatusOr<std::unique_ptr<Optimizer>> MakeRmsProp(const v1::RmsProp& spec, const UpdateKernels& kernels);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_RMSPROP_OPTIMIZER_H_

// Adam (Kingma & Ba 2015) in the order of its section 2, last paragraph: epsilon is added before bias
// correction. AdamW (Loshchilov & Hutter 2019) shrinks the parameters first. AMSGrad (Reddi et al. 2018)
// divides by the largest velocity so far. Slots: momentum, velocity and, for AMSGrad, velocity_hat.
#ifndef LOCKSTEP_MODEL_ADAM_OPTIMIZER_H_
#define LOCKSTEP_MODEL_ADAM_OPTIMIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model/optimizer.h"

namespace lockstep {

namespace v1 {
class Adam;
class AdamW;
}  // namespace v1

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdam(const v1::Adam& spec, const UpdateKernels& kernels);

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdamW(const v1::AdamW& spec, const UpdateKernels& kernels);

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_ADAM_OPTIMIZER_H_

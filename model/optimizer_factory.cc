#include "model/adagrad_optimizer.h"
#include "model/adam_optimizer.h"
#include "model/optimizer.h"
#include "model/rmsprop_optimizer.h"
#include "model/sgd_optimizer.h"
#include "proto/model.pb.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<Optimizer>> Optimizer::Create(const v1::Optimizer& spec,
                                                             InstructionSet instruction_set) {
  const UpdateKernels& kernels = UpdateKernelsFor(instruction_set);
  switch (spec.kind_case()) {
    case v1::Optimizer::kSgd:
      return MakeSgd(spec.sgd(), kernels);
    case v1::Optimizer::kRmsprop:
      return MakeRmsProp(spec.rmsprop(), kernels);
    case v1::Optimizer::kAdam:
      return MakeAdam(spec.adam(), kernels);
    case v1::Optimizer::kAdamw:
      return MakeAdamW(spec.adamw(), kernels);
    case v1::Optimizer::kAdagrad:
      return MakeAdagrad(spec.adagrad(), kernels);
    case v1::Optimizer::KIND_NOT_SET:
      break;
  }
  return MakeAdam(v1::Adam(), kernels);
}

}  // namespace lockstep

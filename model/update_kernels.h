// The optimizers' update rules as loops over flat arrays, compiled once per instruction set.
//
// Every rule is elementwise and uses only operations that IEEE 754 rounds in one way (add, multiply, fused
// multiply-add, divide, square root, maximum), in the same order everywhere: so all instruction sets, lengths
// and alignments give the same bits, and a cluster may mix processors. Formulas are Keras's.
#ifndef LOCKSTEP_MODEL_UPDATE_KERNELS_H_
#define LOCKSTEP_MODEL_UPDATE_KERNELS_H_

#include <cstdint>

#include "base/cpu.h"

namespace lockstep {

// Arrays of `size` elements each; any alignment, no overlap.
struct UpdateBuffers {
  static constexpr int kMaxSlots = 3;

  int64_t size = 0;
  const float* gradients = nullptr;
  float* parameters = nullptr;
  float* slots[kMaxSlots] = {};  // in the order that the rule names them
};

// w -= learning_rate * g
struct SgdRule {
  float learning_rate;
};

// v = momentum * v - learning_rate * g; w += v. Slot: v.
struct MomentumRule {
  float learning_rate;
  float momentum;
};

// v as above; w += momentum * v - learning_rate * g. Slot: v.
struct NesterovRule {
  float learning_rate;
  float momentum;
};

// m += (g - m) * one_minus_beta_1; v += (g^2 - v) * one_minus_beta_2;
// w -= decay * w; w -= m * step_size / (sqrt(v) + epsilon). Slots: m, v.
struct AdamRule {
  float step_size;  // with both bias corrections
  float one_minus_beta_1;
  float one_minus_beta_2;
  float epsilon;
  float decay;  // learning rate * weight decay
};

// As Adam, but divides by the root of h = max(h, v). Slots: m, v, h.
struct AmsgradRule {
  AdamRule adam;
};

// v = rho * v + one_minus_rho * g^2; w -= learning_rate * g / sqrt(v + epsilon). Slot: v.
struct RmsPropRule {
  float learning_rate;
  float rho;
  float one_minus_rho;
  float epsilon;
  float momentum;
};

// As RMSprop, but u = momentum * u + increment; w -= u. Slots: v, u.
struct RmsPropMomentumRule {
  RmsPropRule rmsprop;
};

// a = rho * a + one_minus_rho * g, and v - a^2 takes the place of v in the root. It is kept from going below
// zero by rounding, where Keras may produce NaN. Slots: v, a.
struct RmsPropCenteredRule {
  RmsPropRule rmsprop;
};

// Both. Slots: v, u, a.
struct RmsPropCenteredMomentumRule {
  RmsPropRule rmsprop;
};

// a += g^2; w -= learning_rate * g / sqrt(a + epsilon). Slot: a.
struct AdagradRule {
  float learning_rate;
  float epsilon;
};

struct UpdateKernels {
  void (*sgd)(const SgdRule&, const UpdateBuffers&);
  void (*momentum)(const MomentumRule&, const UpdateBuffers&);
  void (*nesterov)(const NesterovRule&, const UpdateBuffers&);
  void (*adam)(const AdamRule&, const UpdateBuffers&);
  void (*amsgrad)(const AmsgradRule&, const UpdateBuffers&);
  void (*rmsprop)(const RmsPropRule&, const UpdateBuffers&);
  void (*rmsprop_momentum)(const RmsPropMomentumRule&, const UpdateBuffers&);
  void (*rmsprop_centered)(const RmsPropCenteredRule&, const UpdateBuffers&);
  void (*rmsprop_centered_momentum)(const RmsPropCenteredMomentumRule&, const UpdateBuffers&);
  void (*adagrad)(const AdagradRule&, const UpdateBuffers&);
};

namespace avx2 {
extern const UpdateKernels kUpdateKernels;
}  // namespace avx2
namespace avx512 {
extern const UpdateKernels kUpdateKernels;
}  // namespace avx512

inline const UpdateKernels& UpdateKernelsFor(InstructionSet set) {
  return set == InstructionSet::kAvx512 ? avx512::kUpdateKernels : avx2::kUpdateKernels;
}

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_UPDATE_KERNELS_H_

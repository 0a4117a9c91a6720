#include "model/update_kernels.h"

#include "model/fused_simd.h"
#include "base/simd.h"

namespace lockstep {
namespace {

// Each Step updates w and the slots for one batch of elements; the scalars of a rule are spread over a batch
// once, before the loop.

struct SgdStep {
  static constexpr int kSlots = 0;
  explicit SgdStep(const SgdRule& rule) : learning_rate(rule.learning_rate) {}
  void operator()(const Batch& g, Batch& w, Batch*) const { w = SubtractProduct(w, learning_rate, g); }
  const Batch learning_rate;
};

struct MomentumStep {
  static constexpr int kSlots = 1;
  explicit MomentumStep(const MomentumRule& rule)
      : learning_rate(rule.learning_rate), momentum(rule.momentum) {}
  void operator()(const Batch& g, Batch& w, Batch* v) const {
    v[0] = MultiplySubtract(momentum, v[0], learning_rate * g);
    w = w + v[0];
  }
  const Batch learning_rate, momentum;
};

struct NesterovStep {
  static constexpr int kSlots = 1;
  explicit NesterovStep(const NesterovRule& rule)
      : learning_rate(rule.learning_rate), momentum(rule.momentum) {}
  void operator()(const Batch& g, Batch& w, Batch* v) const {
    const Batch step = learning_rate * g;
    v[0] = MultiplySubtract(momentum, v[0], step);
    w = w + MultiplySubtract(momentum, v[0], step);
  }
  const Batch learning_rate, momentum;
};

struct AdamStep {
  static constexpr int kSlots = 2;
  explicit AdamStep(const AdamRule& rule)
      : step_size(rule.step_size),
        one_minus_beta_1(rule.one_minus_beta_1),
        one_minus_beta_2(rule.one_minus_beta_2),
        epsilon(rule.epsilon),
        decay(rule.decay) {}
  void UpdateMoments(const Batch& g, Batch* slots) const {
    slots[0] = MultiplyAdd(g - slots[0], one_minus_beta_1, slots[0]);
    slots[1] = MultiplyAdd(MultiplySubtract(g, g, slots[1]), one_minus_beta_2, slots[1]);
  }
  Batch Updated(const Batch& w, const Batch& m, const Batch& v) const {
    return SubtractProduct(w, decay, w) - m * step_size / (xsimd::sqrt(v) + epsilon);
  }
  void operator()(const Batch& g, Batch& w, Batch* slots) const {
    UpdateMoments(g, slots);
    w = Updated(w, slots[0], slots[1]);
  }
  const Batch step_size, one_minus_beta_1, one_minus_beta_2, epsilon, decay;
};

struct AmsgradStep {
  static constexpr int kSlots = 3;
  explicit AmsgradStep(const AmsgradRule& rule) : adam(rule.adam) {}
  void operator()(const Batch& g, Batch& w, Batch* slots) const {
    adam.UpdateMoments(g, slots);
    slots[2] = xsimd::max(slots[2], slots[1]);
    w = adam.Updated(w, slots[0], slots[2]);
  }
  const AdamStep adam;
};

struct RmsPropStep {
  static constexpr int kSlots = 1;
  explicit RmsPropStep(const RmsPropRule& rule)
      : learning_rate(rule.learning_rate),
        rho(rule.rho),
        one_minus_rho(rule.one_minus_rho),
        epsilon(rule.epsilon),
        momentum(rule.momentum) {}
  Batch Average(const Batch& average, const Batch& value) const {
    return MultiplyAdd(rho, average, one_minus_rho * value);
  }
  Batch Increment(const Batch& g, const Batch& v) const {
    return learning_rate * g / xsimd::sqrt(v + epsilon);
  }
  void operator()(const Batch& g, Batch& w, Batch* slots) const {
    slots[0] = Average(slots[0], g * g);
    w = w - Increment(g, slots[0]);
  }
  const Batch learning_rate, rho, one_minus_rho, epsilon, momentum;
};

struct RmsPropMomentumStep {
  static constexpr int kSlots = 2;
  explicit RmsPropMomentumStep(const RmsPropMomentumRule& rule) : rmsprop(rule.rmsprop) {}
  void operator()(const Batch& g, Batch& w, Batch* slots) const {
    slots[0] = rmsprop.Average(slots[0], g * g);
    slots[1] = MultiplyAdd(rmsprop.momentum, slots[1], rmsprop.Increment(g, slots[0]));
    w = w - slots[1];
  }
  const RmsPropStep rmsprop;
};

Batch Variance(const Batch& mean_square, const Batch& mean) {
  return xsimd::max(SubtractProduct(mean_square, mean, mean), Batch(0.0f));
}

struct RmsPropCenteredStep {
  static constexpr int kSlots = 2;
  explicit RmsPropCenteredStep(const RmsPropCenteredRule& rule) : rmsprop(rule.rmsprop) {}
  void operator()(const Batch& g, Batch& w, Batch* slots) const {
    slots[0] = rmsprop.Average(slots[0], g * g);
    slots[1] = rmsprop.Average(slots[1], g);
    w = w - rmsprop.Increment(g, Variance(slots[0], slots[1]));
  }
  const RmsPropStep rmsprop;
};

struct RmsPropCenteredMomentumStep {
  static constexpr int kSlots = 3;
  explicit RmsPropCenteredMomentumStep(const RmsPropCenteredMomentumRule& rule) : rmsprop(rule.rmsprop) {}
  void operator()(const Batch& g, Batch& w, Batch* slots) const {
    slots[0] = rmsprop.Average(slots[0], g * g);
    slots[2] = rmsprop.Average(slots[2], g);
    slots[1] = MultiplyAdd(rmsprop.momentum, slots[1], rmsprop.Increment(g, Variance(slots[0], slots[2])));
    w = w - slots[1];
  }
  const RmsPropStep rmsprop;
};

struct AdagradStep {
  static constexpr int kSlots = 1;
  explicit AdagradStep(const AdagradRule& rule) : learning_rate(rule.learning_rate), epsilon(rule.epsilon) {}
  void operator()(const Batch& g, Batch& w, Batch* slots) const {
    slots[0] = MultiplyAdd(g, g, slots[0]);
    w = w - learning_rate * g / xsimd::sqrt(slots[0] + epsilon);
  }
  const Batch learning_rate, epsilon;
};

// The tail goes through the same vector instructions as the rest, in front of zeros.
template <typename Step, typename Rule>
void Update(const Rule& rule, const UpdateBuffers& buffers) {
  const Step step(rule);
  Batch slots[Step::kSlots + 1];  // at least one, for the rule without slots
  int64_t i = 0;
  for (; i + kWidth <= buffers.size; i += kWidth) {
    Batch w = Load(buffers.parameters + i);
    for (int s = 0; s < Step::kSlots; ++s) slots[s] = Load(buffers.slots[s] + i);
    step(Load(buffers.gradients + i), w, slots);
    Store(w, buffers.parameters + i);
    for (int s = 0; s < Step::kSlots; ++s) Store(slots[s], buffers.slots[s] + i);
  }
  const int64_t tail = buffers.size - i;
  if (tail == 0) return;
  Batch w = LoadPart(buffers.parameters + i, tail, 0);
  for (int s = 0; s < Step::kSlots; ++s) slots[s] = LoadPart(buffers.slots[s] + i, tail, 0);
  step(LoadPart(buffers.gradients + i, tail, 0), w, slots);
  StorePart(w, buffers.parameters + i, tail);
  for (int s = 0; s < Step::kSlots; ++s) StorePart(slots[s], buffers.slots[s] + i, tail);
}

}  // namespace

namespace LOCKSTEP_SIMD {

extern const UpdateKernels kUpdateKernels = {
    &Update<SgdStep, SgdRule>,
    &Update<MomentumStep, MomentumRule>,
    &Update<NesterovStep, NesterovRule>,
    &Update<AdamStep, AdamRule>,
    &Update<AmsgradStep, AmsgradRule>,
    &Update<RmsPropStep, RmsPropRule>,
    &Update<RmsPropMomentumStep, RmsPropMomentumRule>,
    &Update<RmsPropCenteredStep, RmsPropCenteredRule>,
    &Update<RmsPropCenteredMomentumStep, RmsPropCenteredMomentumRule>,
    &Update<AdagradStep, AdagradRule>,
};

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

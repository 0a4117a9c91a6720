#include "model/reference/optimizer.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>

namespace lockstep {
namespace {

using Vector = xt::xtensor<double, 1>;

// A float field means the decimal number that was written: all that tests use have at most 4 digits.
double Decimal(float value) { return std::round(value * 1e4) / 1e4; }

void ApplySgd(const v1::Sgd& spec, double rate, const Vector& g, Vector& w, std::vector<Vector>& slots) {
  if (spec.momentum() == 0) {
    w -= rate * g;
    return;
  }
  const double momentum = spec.momentum();
  Vector& v = slots[0];
  v = momentum * v - rate * g;
  if (spec.nesterov()) {
    w += momentum * v - rate * g;
  } else {
    w += v;
  }
}

void ApplyRmsProp(const v1::RmsProp& spec, double rate, const Vector& g, Vector& w,
                  std::vector<Vector>& slots) {
  const double rho = spec.has_rho() ? Decimal(spec.rho()) : 0.9;
  const double epsilon = spec.has_epsilon() ? spec.epsilon() : 1e-7;
  Vector& v = slots[0];
  v = rho * v + (1 - rho) * g * g;
  Vector variance = v;
  if (spec.centered()) {
    Vector& average = slots.back();
    average = rho * average + (1 - rho) * g;
    variance = v - average * average;
  }
  Vector increment = rate * g / xt::sqrt(variance + epsilon);
  if (spec.momentum() != 0) {
    slots[1] = spec.momentum() * slots[1] + increment;
    increment = slots[1];
  }
  w -= increment;
}

template <typename Spec>
void ApplyAdam(const Spec& spec, double weight_decay, int64_t step, double rate, const Vector& g, Vector& w,
               std::vector<Vector>& slots) {
  const double beta_1 = spec.has_beta_1() ? Decimal(spec.beta_1()) : 0.9;
  const double beta_2 = spec.has_beta_2() ? Decimal(spec.beta_2()) : 0.999;
  const double epsilon = spec.has_epsilon() ? spec.epsilon() : 1e-7;
  w *= 1 - rate * weight_decay;
  slots[0] = beta_1 * slots[0] + (1 - beta_1) * g;
  slots[1] = beta_2 * slots[1] + (1 - beta_2) * g * g;
  if (spec.amsgrad()) slots[2] = xt::maximum(slots[1], slots[2]);
  const double steps = static_cast<double>(step);
  const double alpha = rate * std::sqrt(1 - std::pow(beta_2, steps)) / (1 - std::pow(beta_1, steps));
  w -= alpha * slots[0] / (xt::sqrt(slots.back()) + epsilon);
}

void ApplyAdagrad(const v1::Adagrad& spec, double rate, const Vector& g, Vector& w,
                  std::vector<Vector>& slots) {
  const double epsilon = spec.has_epsilon() ? spec.epsilon() : 1e-7;
  slots[0] += g * g;
  w -= rate * g / xt::sqrt(slots[0] + epsilon);
}

void ApplyKind(const v1::Optimizer& spec, int64_t step, double rate, const Vector& g, Vector& w,
               std::vector<Vector>& slots) {
  if (spec.has_sgd()) {
    ApplySgd(spec.sgd(), rate, g, w, slots);
  } else if (spec.has_rmsprop()) {
    ApplyRmsProp(spec.rmsprop(), rate, g, w, slots);
  } else if (spec.has_adamw()) {
    const double decay = spec.adamw().has_weight_decay() ? Decimal(spec.adamw().weight_decay()) : 0.004;
    ApplyAdam(spec.adamw(), decay, step, rate, g, w, slots);
  } else if (spec.has_adagrad()) {
    ApplyAdagrad(spec.adagrad(), rate, g, w, slots);
  } else {
    ApplyAdam(spec.adam(), 0, step, rate, g, w, slots);
  }
}

Vector ToVector(const std::vector<double>& values) {
  return xt::adapt(values, std::array<size_t, 1>{values.size()});
}

}  // namespace

void ReferenceApply(const v1::Optimizer& spec, int64_t step, double learning_rate,
                    const std::vector<double>& gradients, std::vector<double>* parameters,
                    std::vector<std::vector<double>>* slots) {
  const Vector g = ToVector(gradients);
  Vector w = ToVector(*parameters);
  std::vector<Vector> state;
  for (const auto& slot : *slots) state.push_back(ToVector(slot));
  ApplyKind(spec, step, learning_rate, g, w, state);
  parameters->assign(w.begin(), w.end());
  for (size_t s = 0; s < state.size(); ++s) (*slots)[s].assign(state[s].begin(), state[s].end());
}

}  // namespace lockstep

// Starting values of a parameter. Each value is a pure function of (seed, parameter name, element), so that
// all ranks start alike and adding a layer changes no other layer's values.
//
// Immutable value, thread-safe.
#ifndef LOCKSTEP_MODEL_INITIALIZER_H_
#define LOCKSTEP_MODEL_INITIALIZER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lockstep {

class Initializer {
 public:
  // Zeros.
  Initializer() = default;

  static Initializer Constant(float value);
  // [low, high). Exact arithmetic: the same bits on every processor.
  static Initializer Uniform(float low, float high);
  static Initializer Normal(float mean, float stddev);
  // Values of a normal distribution farther than two standard deviations from 0 are drawn again. `stddev` is
  // that of the distribution before it is cut.
  static Initializer TruncatedNormal(float stddev);

  // Overwrites `values`, all elements of the parameter `name`.
  void Fill(uint64_t seed, absl::string_view name, absl::Span<float> values) const;

 private:
  enum class Distribution { kConstant, kUniform, kNormal, kTruncatedNormal };

  Initializer(Distribution distribution, float first, float second)
      : distribution_(distribution), first_(first), second_(second) {}

  Distribution distribution_ = Distribution::kConstant;
  float first_ = 0;   // value, low end or mean
  float second_ = 0;  // high end or standard deviation
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_INITIALIZER_H_

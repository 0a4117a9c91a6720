#include "model/initializer_factory.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

// How many values a unit reads (in) and how many units read a value (out). The leading axes of a
// convolution's kernel are its receptive field.
struct Fans {
  double in = 1;
  double out = 1;
  double average() const { return (in + out) / 2; }
};

Fans FansOf(const Shape& shape) {
  if (shape.empty()) return {};
  const double last = static_cast<double>(shape.back());
  if (shape.size() == 1) return {last, last};
  double field = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  return {field * static_cast<double>(shape[shape.size() - 2]), field * last};
}

Initializer UniformOfVariance(double variance) {
  const float limit = static_cast<float>(std::sqrt(3 * variance));
  return Initializer::Uniform(-limit, limit);
}

// The standard deviation of a standard normal distribution cut at -2 and 2: dividing by it gives the values
// the variance that was asked for. Keras's constant.
constexpr double kTruncatedStddev = 0.87962566103423978;

Initializer TruncatedNormalOfVariance(double variance) {
  return Initializer::TruncatedNormal(static_cast<float>(std::sqrt(variance) / kTruncatedStddev));
}

absl::StatusOr<Initializer> MakeUniform(const v1::Initializer::RandomUniform& spec) {
  const float low = spec.has_minval() ? spec.minval() : -0.05f;
  const float high = spec.has_maxval() ? spec.maxval() : 0.05f;
  if (std::isfinite(low) && std::isfinite(high) && low <= high && std::isfinite(high - low)) {
    return Initializer::Uniform(low, high);
  }
  return absl::InvalidArgumentError(absl::StrCat("random_uniform from minval ", low, " to maxval ", high,
                                                 " is no range, minval must be at most maxval"));
}

absl::StatusOr<Initializer> MakeNormal(const v1::Initializer::RandomNormal& spec) {
  const float mean = spec.has_mean() ? spec.mean() : 0;
  const float stddev = spec.has_stddev() ? spec.stddev() : 0.05f;
  if (std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0) return Initializer::Normal(mean, stddev);
  return absl::InvalidArgumentError(absl::StrCat("random_normal has mean ", mean, " and stddev ", stddev,
                                                 ", must be finite and stddev at least 0"));
}

absl::StatusOr<Initializer> MakeConstant(float value) {
  if (std::isfinite(value)) return Initializer::Constant(value);
  return absl::InvalidArgumentError(absl::StrCat("constant is ", value, ", must be finite"));
}

}  // namespace

absl::StatusOr<Initializer> MakeInitializer(const v1::Initializer& spec, const Shape& shape) {
  const Fans fans = FansOf(shape);
  switch (spec.kind_case()) {
    case v1::Initializer::KIND_NOT_SET:
    case v1::Initializer::kGlorotUniform:
      return UniformOfVariance(1 / fans.average());
    case v1::Initializer::kGlorotNormal:
      return TruncatedNormalOfVariance(1 / fans.average());
    case v1::Initializer::kHeUniform:
      return UniformOfVariance(2 / fans.in);
    case v1::Initializer::kHeNormal:
      return TruncatedNormalOfVariance(2 / fans.in);
    case v1::Initializer::kLecunUniform:
      return UniformOfVariance(1 / fans.in);
    case v1::Initializer::kLecunNormal:
      return TruncatedNormalOfVariance(1 / fans.in);
    case v1::Initializer::kZeros:
      return Initializer::Constant(0);
    case v1::Initializer::kOnes:
      return Initializer::Constant(1);
    case v1::Initializer::kConstant:
      return MakeConstant(spec.constant());
    case v1::Initializer::kRandomUniform:
      return MakeUniform(spec.random_uniform());
    case v1::Initializer::kRandomNormal:
      return MakeNormal(spec.random_normal());
  }
  return absl::InternalError("unknown initializer");
}

}  // namespace lockstep

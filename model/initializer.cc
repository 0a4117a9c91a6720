#include "model/initializer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/random.h"

namespace lockstep {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Random blocks of one parameter.
class Blocks {
 public:
  Blocks(uint64_t seed, absl::string_view name) : seed_(seed), parameter_(Hash64(name)) {}
  RandomBlock operator()(uint64_t index) const {
    return Philox(seed_, RandomPurpose::kInitializer, parameter_, index);
  }

 private:
  const uint64_t seed_;
  const uint64_t parameter_;
};

void FillUniform(const Blocks& blocks, float low, float high, absl::Span<float> values) {
  const float width = high - low;
  for (size_t begin = 0; begin < values.size(); begin += 4) {
    const RandomBlock block = blocks(begin / 4);
    const size_t count = std::min<size_t>(4, values.size() - begin);
    for (size_t i = 0; i < count; ++i) values[begin + i] = low + width * UnitFloat(block[i]);
  }
}

// Box & Muller 1958: a block gives two uniform values and they a normal one. 1 - u is above 0.
double StandardNormal(const RandomBlock& block) {
  const double radius = std::sqrt(-2 * std::log(1 - UnitDouble(block[0], block[1])));
  return radius * std::cos(2 * kPi * UnitDouble(block[2], block[3]));
}

// The first draw within `limit`. Each element has 256 blocks of its own; all of them are outside of two
// standard deviations with probability 0.0455^256, which is never.
double FirstWithin(double limit, const Blocks& blocks, uint64_t element) {
  constexpr uint64_t kDraws = 256;
  double value = 0;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    value = StandardNormal(blocks(element * kDraws + draw));
    if (std::abs(value) <= limit) break;
  }
  return value;
}

void FillNormal(const Blocks& blocks, double mean, double stddev, double limit, absl::Span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(mean + stddev * FirstWithin(limit, blocks, i));
  }
}

}  // namespace

Initializer Initializer::Constant(float value) { return {Distribution::kConstant, value, 0}; }
Initializer Initializer::Uniform(float low, float high) { return {Distribution::kUniform, low, high}; }
Initializer Initializer::Normal(float mean, float stddev) { return {Distribution::kNormal, mean, stddev}; }
Initializer Initializer::TruncatedNormal(float stddev) { return {Distribution::kTruncatedNormal, 0, stddev}; }

void Initializer::Fill(uint64_t seed, absl::string_view name, absl::Span<float> values) const {
  const Blocks blocks(seed, name);
  switch (distribution_) {
    case Distribution::kConstant:
      std::fill(values.begin(), values.end(), first_);
      return;
    case Distribution::kUniform:
      return FillUniform(blocks, first_, second_, values);
    case Distribution::kNormal:
      return FillNormal(blocks, first_, second_, std::numeric_limits<double>::infinity(), values);
    case Distribution::kTruncatedNormal:
      return FillNormal(blocks, first_, second_, 2, values);
  }
}

}  // namespace lockstep

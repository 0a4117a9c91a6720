#include "model/elementwise_loss.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/shape.h"

namespace lockstep {
namespace {

struct SquaredError {
  double Value(double e) const { return e * e; }
  double Slope(double e) const { return 2 * e; }
};

struct AbsoluteError {
  double Value(double e) const { return std::abs(e); }
  double Slope(double e) const { return e > 0 ? 1 : e < 0 ? -1 : 0; }
};

struct HuberError {
  double delta;
  double Value(double e) const {
    return std::abs(e) <= delta ? e * e / 2 : delta * std::abs(e) - delta * delta / 2;
  }
  double Slope(double e) const { return std::abs(e) <= delta ? e : std::copysign(delta, e); }
};

template <typename Error>
class ElementwiseLoss final : public Loss {
 public:
  ElementwiseLoss(Error error, const std::vector<int64_t>& output_shape)
      : Loss({false, 0, output_shape}), error_(error), row_size_(NumElements(output_shape)) {}

  double SumAndGradient(const float* outputs, const Labels& labels, int64_t rows,
                        float* output_gradient) const override {
    const double scale = 1.0 / static_cast<double>(row_size_);
    double sum = 0;
    for (int64_t i = 0; i < rows * row_size_; ++i) {
      const double e = static_cast<double>(outputs[i]) - labels.values[i];
      sum += error_.Value(e);
      if (output_gradient != nullptr) output_gradient[i] = static_cast<float>(scale * error_.Slope(e));
    }
    return sum * scale;
  }

 private:
  const Error error_;
  const int64_t row_size_;
};

}  // namespace

std::unique_ptr<Loss> MakeMeanSquaredError(const std::vector<int64_t>& output_shape) {
  return std::make_unique<ElementwiseLoss<SquaredError>>(SquaredError(), output_shape);
}

std::unique_ptr<Loss> MakeMeanAbsoluteError(const std::vector<int64_t>& output_shape) {
  return std::make_unique<ElementwiseLoss<AbsoluteError>>(AbsoluteError(), output_shape);
}

absl::StatusOr<std::unique_ptr<Loss>> MakeHuber(float delta, const std::vector<int64_t>& output_shape) {
  if (!std::isfinite(delta) || delta <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("huber.delta is ", delta, ", but must be above 0"));
  }
  return std::make_unique<ElementwiseLoss<HuberError>>(HuberError{delta}, output_shape);
}

}  // namespace lockstep

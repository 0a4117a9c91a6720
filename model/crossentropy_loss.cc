#include "model/crossentropy_loss.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/shape_text.h"
#include "model/shape.h"

namespace lockstep {
namespace {

// Keras's backend epsilon. The upper limit is rounded to float32, 1 - 2^-23: so a certain wrong answer
// costs 15.94 for one side and 16.12 for the other.
constexpr float kSmallestProbability = 1e-7f;
constexpr float kLargestProbability = static_cast<float>(1.0 - 1e-7);

bool IsClipped(float probability) {
  return probability < kSmallestProbability || probability > kLargestProbability;
}
// NaN stays NaN.
float Clip(float probability) { return std::clamp(probability, kSmallestProbability, kLargestProbability); }

// The label of one distribution, seen as the weights of its classes. Two forms with one interface, so that
// the formulas below are written once.
class ClassNumber {
 public:
  explicit ClassNumber(int64_t number) : number_(number) {}
  double Sum(int64_t) const { return 1.0; }
  // Calls visit(c, weight) for the classes of non-zero weight.
  template <typename Visit>
  void ForEach(int64_t, Visit visit) const {
    visit(number_, 1.0);
  }

 private:
  int64_t number_;
};

class ClassWeights {
 public:
  explicit ClassWeights(const float* weights) : weights_(weights) {}
  double Sum(int64_t num_classes) const {
    double sum = 0;
    for (int64_t c = 0; c < num_classes; ++c) sum += weights_[c];
    return sum;
  }
  template <typename Visit>
  void ForEach(int64_t num_classes, Visit visit) const {
    for (int64_t c = 0; c < num_classes; ++c) {
      if (weights_[c] != 0) visit(c, weights_[c]);
    }
  }

 private:
  const float* weights_;
};

// With T = sum of the label's weights t: loss = T * log(sum exp(x)) - sum t * x, d/dx = T * softmax(x) - t.
template <typename Label>
double LogitsLoss(const float* logits, const Label& label, int64_t num_classes, double scale,
                  float* gradient) {
  const double largest = *std::max_element(logits, logits + num_classes);
  double sum = 0;
  // The exponentials wait in the gradient's place: they are most of the cost.
  for (int64_t c = 0; c < num_classes; ++c) {
    const double exponential = std::exp(logits[c] - largest);
    sum += exponential;
    if (gradient != nullptr) gradient[c] = static_cast<float>(exponential);
  }
  const double log_sum = std::log(sum);
  double loss = 0;
  label.ForEach(num_classes,
                [&](int64_t c, double weight) { loss += weight * (log_sum - (logits[c] - largest)); });
  // A non-finite logit shows in the sum even when its class has no weight.
  if (!std::isfinite(sum)) loss = sum;
  if (gradient == nullptr) return loss;
  const double factor = scale * label.Sum(num_classes) / sum;
  for (int64_t c = 0; c < num_classes; ++c) gradient[c] = static_cast<float>(gradient[c] * factor);
  // Where a label is subtracted, the digits that the exponential lost as a float would show: a network that
  // is nearly sure has softmax - 1 close to 0.
  label.ForEach(num_classes, [&](int64_t c, double weight) {
    gradient[c] = static_cast<float>(std::exp(logits[c] - largest) * factor - scale * weight);
  });
  return loss;
}

// With q = p / sum(p): loss = -sum t * log(clip(q)). With d the derivative by q, that by p is
// (d - sum d * q) / sum(p).
template <typename Label>
double ProbabilitiesLoss(const float* probabilities, const Label& label, int64_t num_classes, double scale,
                         float* gradient) {
  double sum = 0;
  for (int64_t c = 0; c < num_classes; ++c) sum += probabilities[c];
  if (!std::isfinite(sum)) sum = std::nan("");
  double loss = 0;
  double dot = 0;
  label.ForEach(num_classes, [&](int64_t c, double weight) {
    const float q = static_cast<float>(probabilities[c] / sum);
    loss -= weight * std::log(static_cast<double>(Clip(q)));
    if (!IsClipped(q)) dot -= weight;
  });
  if (gradient == nullptr) return loss;
  std::fill_n(gradient, num_classes, static_cast<float>(-scale * dot / sum));
  label.ForEach(num_classes, [&](int64_t c, double weight) {
    const float q = static_cast<float>(probabilities[c] / sum);
    if (!IsClipped(q)) gradient[c] = static_cast<float>(scale * (-weight / q - dot) / sum);
  });
  return loss;
}

template <typename Label>
double DistributionLoss(OutputKind kind, const float* outputs, const Label& label, int64_t num_classes,
                        double scale, float* gradient) {
  return kind == OutputKind::kLogits ? LogitsLoss(outputs, label, num_classes, scale, gradient)
                                     : ProbabilitiesLoss(outputs, label, num_classes, scale, gradient);
}

class SparseCategoricalCrossentropy final : public Loss {
 public:
  SparseCategoricalCrossentropy(OutputKind kind, int64_t num_classes)
      : Loss({true, num_classes, {}}), kind_(kind), num_classes_(num_classes) {}

  double SumAndGradient(const float* outputs, const Labels& labels, int64_t rows,
                        float* output_gradient) const override {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t number = labels.classes[row];
      CHECK(number >= 0 && number < num_classes_) << "label " << number << " of row " << row;
      const int64_t offset = row * num_classes_;
      sum += DistributionLoss(kind_, outputs + offset, ClassNumber(number), num_classes_, 1.0,
                              output_gradient == nullptr ? nullptr : output_gradient + offset);
    }
    return sum;
  }

 private:
  const OutputKind kind_;
  const int64_t num_classes_;
};

class CategoricalCrossentropy final : public Loss {
 public:
  CategoricalCrossentropy(OutputKind kind, const std::vector<int64_t>& output_shape)
      : Loss({false, 0, output_shape}),
        kind_(kind),
        num_classes_(output_shape.back()),
        distributions_(NumElements(output_shape) / num_classes_) {}

  double SumAndGradient(const float* outputs, const Labels& labels, int64_t rows,
                        float* output_gradient) const override {
    const double scale = 1.0 / static_cast<double>(distributions_);
    double sum = 0;
    for (int64_t i = 0; i < rows * distributions_; ++i) {
      const int64_t offset = i * num_classes_;
      sum += DistributionLoss(kind_, outputs + offset, ClassWeights(labels.values + offset), num_classes_,
                              scale, output_gradient == nullptr ? nullptr : output_gradient + offset);
    }
    return sum * scale;
  }

 private:
  const OutputKind kind_;
  const int64_t num_classes_;
  const int64_t distributions_;  // of one row
};

struct ValueAndSlope {
  double value;
  double slope;
};

// log(1 + exp(x)) - t * x, without overflow on either side.
ValueAndSlope BinaryFromLogit(double logit, double label) {
  const double small = std::exp(-std::abs(logit));
  const double sigmoid = logit >= 0 ? 1 / (1 + small) : small / (1 + small);
  return {std::max(logit, 0.0) - logit * label + std::log1p(small), sigmoid - label};
}

ValueAndSlope BinaryFromProbability(float probability, double label) {
  const float p = Clip(probability);
  const float not_p = 1.0f - p;
  const double value =
      -(label * std::log(static_cast<double>(p)) + (1 - label) * std::log(static_cast<double>(not_p)));
  return {value, IsClipped(probability) ? 0.0 : (1 - label) / not_p - label / p};
}

class BinaryCrossentropy final : public Loss {
 public:
  BinaryCrossentropy(OutputKind kind, const std::vector<int64_t>& output_shape)
      : Loss({false, 0, output_shape}), kind_(kind), row_size_(NumElements(output_shape)) {}

  double SumAndGradient(const float* outputs, const Labels& labels, int64_t rows,
                        float* output_gradient) const override {
    const double scale = 1.0 / static_cast<double>(row_size_);
    double sum = 0;
    for (int64_t i = 0; i < rows * row_size_; ++i) {
      const ValueAndSlope loss = kind_ == OutputKind::kLogits
                                     ? BinaryFromLogit(outputs[i], labels.values[i])
                                     : BinaryFromProbability(outputs[i], labels.values[i]);
      sum += loss.value;
      if (output_gradient != nullptr) output_gradient[i] = static_cast<float>(scale * loss.slope);
    }
    return sum * scale;
  }

 private:
  const OutputKind kind_;
  const int64_t row_size_;
};

absl::Status TooFewClasses(const char* name, const std::vector<int64_t>& output_shape) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " needs at least 2 classes in the last axis, but the output has shape ",
                   ShapeToString(output_shape), ": use binary_crossentropy for one output"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loss>> MakeSparseCategoricalCrossentropy(
    OutputKind outputs, const std::vector<int64_t>& output_shape) {
  if (output_shape.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sparse_categorical_crossentropy takes one class number per row and needs an output of shape "
        "[classes], but it is ",
        ShapeToString(output_shape), ": add a flatten layer before the last one"));
  }
  if (output_shape.empty() || output_shape[0] < 2) {
    return TooFewClasses("sparse_categorical_crossentropy", output_shape);
  }
  return std::make_unique<SparseCategoricalCrossentropy>(outputs, output_shape[0]);
}

absl::StatusOr<std::unique_ptr<Loss>> MakeCategoricalCrossentropy(OutputKind outputs,
                                                                  const std::vector<int64_t>& output_shape) {
  if (output_shape.empty() || output_shape.back() < 2) {
    return TooFewClasses("categorical_crossentropy", output_shape);
  }
  return std::make_unique<CategoricalCrossentropy>(outputs, output_shape);
}

absl::StatusOr<std::unique_ptr<Loss>> MakeBinaryCrossentropy(OutputKind outputs,
                                                             const std::vector<int64_t>& output_shape) {
  return std::make_unique<BinaryCrossentropy>(outputs, output_shape);
}

}  // namespace lockstep

#include "model/metric.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/quoted.h"
#include "base/shape_text.h"
#include "base/status_macros.h"
#include "model/shape.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

// The first of the largest values, as in Keras. -1 if one is NaN: such a row is never right.
int64_t ArgMax(const float* values, int64_t size) {
  int64_t best = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (std::isnan(values[i])) return -1;
    if (values[i] > values[best]) best = i;
  }
  return best;
}

// A distribution over classes per row (or, with more axes, several) is right or wrong.
class ClassMetric : public Metric {
 public:
  ClassMetric(std::string name, const std::vector<int64_t>& output_shape)
      : Metric(std::move(name)),
        num_classes_(output_shape.back()),
        distributions_(NumElements(output_shape) / num_classes_) {}

  void Accumulate(const float* outputs, const Labels& labels, int64_t rows, double* numerator,
                  double* denominator) const override {
    const int64_t count = rows * distributions_;
    int64_t right = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t offset = i * num_classes_;
      const int64_t label =
          labels.classes != nullptr ? labels.classes[i] : ArgMax(labels.values + offset, num_classes_);
      if (label >= 0 && IsRight(outputs + offset, label)) ++right;
    }
    *numerator += static_cast<double>(right);
    *denominator += static_cast<double>(count);
  }

 protected:
  int64_t num_classes() const { return num_classes_; }

 private:
  virtual bool IsRight(const float* outputs, int64_t label) const = 0;

  const int64_t num_classes_;
  const int64_t distributions_;  // of one row
};

class ClassAccuracy final : public ClassMetric {
 public:
  using ClassMetric::ClassMetric;

 private:
  bool IsRight(const float* outputs, int64_t label) const override {
    return ArgMax(outputs, num_classes()) == label;
  }
};

// Right when fewer than k classes have a larger output than the label's: ties count in its favour.
class TopKAccuracy final : public ClassMetric {
 public:
  TopKAccuracy(std::string name, const std::vector<int64_t>& output_shape, int k)
      : ClassMetric(std::move(name), output_shape), k_(k) {}

 private:
  bool IsRight(const float* outputs, int64_t label) const override {
    int larger = 0;
    for (int64_t c = 0; c < num_classes(); ++c) {
      if (std::isnan(outputs[c])) return false;
      if (outputs[c] > outputs[label]) ++larger;
    }
    return larger < k_;
  }

  const int k_;
};

// The mean over rows of each row's mean of f(output, label), elementwise.
template <typename Function>
class ElementwiseMetric final : public Metric {
 public:
  ElementwiseMetric(std::string name, const std::vector<int64_t>& output_shape, Function function)
      : Metric(std::move(name)), row_size_(NumElements(output_shape)), function_(function) {}

  void Accumulate(const float* outputs, const Labels& labels, int64_t rows, double* numerator,
                  double* denominator) const override {
    double sum = 0;
    for (int64_t i = 0; i < rows * row_size_; ++i) sum += function_(outputs[i], labels.values[i]);
    *numerator += sum / static_cast<double>(row_size_);
    *denominator += static_cast<double>(rows);
  }

 private:
  const int64_t row_size_;
  const Function function_;
};

template <typename Function>
std::unique_ptr<Metric> MakeElementwise(const std::string& name, const std::vector<int64_t>& output_shape,
                                        Function function) {
  return std::make_unique<ElementwiseMetric<Function>>(name, output_shape, function);
}

// Keras's threshold, also when the outputs are logits.
double IsSameSide(float output, float label) { return (output > 0.5f) == (label > 0.5f) ? 1 : 0; }

double SquaredError(float output, float label) {
  const double e = static_cast<double>(output) - label;
  return e * e;
}

double AbsoluteError(float output, float label) { return std::abs(static_cast<double>(output) - label); }

enum class Kind {
  kBinaryAccuracy,
  kCategoricalAccuracy,
  kSparseCategoricalAccuracy,
  kTopKCategoricalAccuracy,
  kSparseTopKCategoricalAccuracy,
  kMeanSquaredError,
  kMeanAbsoluteError,
};

struct NamedKind {
  absl::string_view name;
  Kind kind;
};

// "accuracy" is chosen by the loss.
constexpr NamedKind kKinds[] = {
    {"binary_accuracy", Kind::kBinaryAccuracy},
    {"categorical_accuracy", Kind::kCategoricalAccuracy},
    {"sparse_categorical_accuracy", Kind::kSparseCategoricalAccuracy},
    {"top_k_categorical_accuracy", Kind::kTopKCategoricalAccuracy},
    {"sparse_top_k_categorical_accuracy", Kind::kSparseTopKCategoricalAccuracy},
    {"mean_squared_error", Kind::kMeanSquaredError},
    {"mse", Kind::kMeanSquaredError},
    {"mean_absolute_error", Kind::kMeanAbsoluteError},
    {"mae", Kind::kMeanAbsoluteError},
};

Kind AccuracyOf(const v1::Loss& loss, const std::vector<int64_t>& output_shape) {
  if (loss.has_sparse_categorical_crossentropy()) return Kind::kSparseCategoricalAccuracy;
  if (loss.has_binary_crossentropy()) return Kind::kBinaryAccuracy;
  const bool one_output = output_shape.empty() || output_shape.back() == 1;
  return one_output ? Kind::kBinaryAccuracy : Kind::kCategoricalAccuracy;
}

absl::StatusOr<Kind> FindKind(const std::string& name, const v1::Loss& loss,
                              const std::vector<int64_t>& output_shape) {
  if (name == "accuracy") return AccuracyOf(loss, output_shape);
  for (const NamedKind& known : kKinds) {
    if (known.name == name) return known.kind;
  }
  const auto append_name = [](std::string* out, const NamedKind& known) { absl::StrAppend(out, known.name); };
  return absl::InvalidArgumentError(absl::StrCat("unknown metric ", Quoted(name), ": choose of accuracy, ",
                                                 absl::StrJoin(kKinds, ", ", append_name)));
}

bool NeedsClassNumbers(Kind kind) {
  return kind == Kind::kSparseCategoricalAccuracy || kind == Kind::kSparseTopKCategoricalAccuracy;
}

bool IsOverClasses(Kind kind) {
  return NeedsClassNumbers(kind) || kind == Kind::kCategoricalAccuracy ||
         kind == Kind::kTopKCategoricalAccuracy;
}

absl::Status CheckFits(const std::string& name, Kind kind, const v1::Loss& loss,
                       const std::vector<int64_t>& output_shape) {
  const bool class_numbers = loss.has_sparse_categorical_crossentropy();
  if (NeedsClassNumbers(kind) != class_numbers) {
    return absl::InvalidArgumentError(
        absl::StrCat("metric \"", name, "\" compares with ", class_numbers ? "label values" : "class numbers",
                     ", but the loss's labels are ", class_numbers ? "class numbers" : "label values",
                     ": choose a metric for these, for example accuracy"));
  }
  if (IsOverClasses(kind) && (output_shape.empty() || output_shape.back() < 2)) {
    return absl::InvalidArgumentError(absl::StrCat("metric \"", name,
                                                   "\" needs at least 2 classes in the last axis, but the "
                                                   "output has shape ",
                                                   ShapeToString(output_shape), ": use binary_accuracy"));
  }
  return absl::OkStatus();
}

std::unique_ptr<Metric> Make(const std::string& name, Kind kind, const std::vector<int64_t>& output_shape,
                             int top_k) {
  switch (kind) {
    case Kind::kBinaryAccuracy:
      return MakeElementwise(name, output_shape, &IsSameSide);
    case Kind::kCategoricalAccuracy:
    case Kind::kSparseCategoricalAccuracy:
      return std::make_unique<ClassAccuracy>(name, output_shape);
    case Kind::kTopKCategoricalAccuracy:
    case Kind::kSparseTopKCategoricalAccuracy:
      return std::make_unique<TopKAccuracy>(name, output_shape, top_k);
    case Kind::kMeanSquaredError:
      return MakeElementwise(name, output_shape, &SquaredError);
    case Kind::kMeanAbsoluteError:
      return MakeElementwise(name, output_shape, &AbsoluteError);
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Metric>>> CreateMetrics(const v1::Compile& compile,
                                                                   const std::vector<int64_t>& output_shape) {
  const int top_k = compile.has_top_k() ? compile.top_k() : kDefaultTopK;
  if (top_k < 1) {
    return absl::InvalidArgumentError(absl::StrCat("compile.top_k is ", top_k, ", but must be at least 1"));
  }
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const std::string& name : compile.metrics()) {
    if (absl::c_any_of(metrics, [&](const auto& metric) { return metric->name() == name; })) {
      return absl::InvalidArgumentError(absl::StrCat("metric \"", name, "\" is written twice"));
    }
    ASSIGN_OR_RETURN(const Kind kind, FindKind(name, compile.loss(), output_shape));
    RETURN_IF_ERROR(CheckFits(name, kind, compile.loss(), output_shape));
    metrics.push_back(Make(name, kind, output_shape, top_k));
  }
  return metrics;
}

}  // namespace lockstep

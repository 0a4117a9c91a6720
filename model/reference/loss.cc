#include "model/reference/loss.h"

#include <array>
#include <cstddef>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "model/shape.h"

namespace lockstep {
namespace {

using Matrix = xt::xtensor<double, 2>;

Matrix ToMatrix(const std::vector<double>& values, size_t columns) {
  return xt::adapt(values, std::array<size_t, 2>{values.size() / columns, columns});
}

Matrix LabelMatrix(const Labels& labels, size_t rows, size_t columns) {
  Matrix result = xt::zeros<double>({rows, columns});
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      result(r, c) = labels.classes == nullptr ? static_cast<double>(labels.values[r * columns + c])
                                               : static_cast<double>(labels.classes[r]) == c;
    }
  }
  return result;
}

// The limits of float32, as in Keras.
Matrix Clip(const Matrix& p) {
  return xt::clip(p, static_cast<double>(1e-7f), static_cast<double>(static_cast<float>(1 - 1e-7)));
}

// x and t: one distribution per row.
double Categorical(bool from_logits, const Matrix& x, const Matrix& t) {
  const Matrix positive = from_logits ? Matrix(xt::exp(x)) : x;
  const xt::xtensor<double, 1> sums = xt::sum(positive, {1});
  const Matrix p = positive / xt::view(sums, xt::all(), xt::newaxis());
  const Matrix q = from_logits ? p : Clip(p);
  return -xt::sum(t * xt::log(q))();
}

double Binary(bool from_logits, const Matrix& x, const Matrix& t) {
  const Matrix p = from_logits ? Matrix(1 / (1 + xt::exp(-x))) : Clip(x);
  return -xt::sum(t * xt::log(p) + (1 - t) * xt::log(1 - p))();
}

double Huber(double delta, const Matrix& e) {
  const Matrix absolute = xt::abs(e);
  return xt::sum(xt::where(absolute <= delta, e * e / 2, delta * absolute - delta * delta / 2))();
}

}  // namespace

double ReferenceLossSum(const v1::Loss& spec, const std::vector<int64_t>& output_shape,
                        const std::vector<double>& outputs, const Labels& labels, int64_t rows) {
  const auto row_size = static_cast<size_t>(NumElements(output_shape));
  const size_t columns = output_shape.empty() ? 1 : static_cast<size_t>(output_shape.back());
  const Matrix x = ToMatrix(outputs, columns);
  const Matrix t = LabelMatrix(labels, static_cast<size_t>(rows) * row_size / columns, columns);
  const double elements = static_cast<double>(row_size);
  const double distributions = elements / static_cast<double>(columns);
  switch (spec.kind_case()) {
    case v1::Loss::kSparseCategoricalCrossentropy:
      return Categorical(spec.sparse_categorical_crossentropy().from_logits(), x, t) / distributions;
    case v1::Loss::kCategoricalCrossentropy:
      return Categorical(spec.categorical_crossentropy().from_logits(), x, t) / distributions;
    case v1::Loss::kBinaryCrossentropy:
      return Binary(spec.binary_crossentropy().from_logits(), x, t) / elements;
    case v1::Loss::kMeanSquaredError:
      return xt::sum(xt::square(x - t))() / elements;
    case v1::Loss::kMeanAbsoluteError:
      return xt::sum(xt::abs(x - t))() / elements;
    case v1::Loss::kHuber:
      return Huber(spec.huber().has_delta() ? spec.huber().delta() : 1, x - t) / elements;
    case v1::Loss::KIND_NOT_SET:
      break;
  }
  return 0;
}

std::vector<double> ReferenceLossGradient(const v1::Loss& spec, const std::vector<int64_t>& output_shape,
                                          const std::vector<double>& outputs, const Labels& labels,
                                          int64_t rows) {
  // Balances the formula's error (step^2) with rounding (2^-52 / step): about 1e-10 relative.
  constexpr double kStep = 1e-5;
  std::vector<double> gradient(outputs.size());
  std::vector<double> moved = outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    moved[i] = outputs[i] + kStep;
    const double above = ReferenceLossSum(spec, output_shape, moved, labels, rows);
    moved[i] = outputs[i] - kStep;
    const double below = ReferenceLossSum(spec, output_shape, moved, labels, rows);
    moved[i] = outputs[i];
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

}  // namespace lockstep

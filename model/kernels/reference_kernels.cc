#include "model/kernels/reference_kernels.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <xtensor/xadapt.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "base/random.h"

namespace lockstep::reference {
namespace {

using Matrix = xt::xtensor<double, 2>;

std::array<size_t, 2> ShapeOf(MatrixSize size) {
  return {static_cast<size_t>(size.rows), static_cast<size_t>(size.columns)};
}

size_t Elements(MatrixSize size) { return static_cast<size_t>(size.rows * size.columns); }

Matrix Read(MatrixSize size, const double* values) {
  return xt::adapt(values, Elements(size), xt::no_ownership(), ShapeOf(size));
}

void Write(const Matrix& values, double* to) {
  auto target = xt::adapt(to, values.size(), xt::no_ownership(), values.shape());
  target = values;
}

double Cumulative(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double Density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(8 * std::atan(1.0)); }

double Value(const Activation& activation, double x) {
  switch (activation.function) {
    case ActivationFunction::kLinear:
    case ActivationFunction::kSoftmax:  // not elementwise
      return x;
    case ActivationFunction::kRelu:
      return x > 0 ? x : 0;
    case ActivationFunction::kLeakyRelu:
      return x > 0 ? x : activation.leaky_relu_slope * x;
    case ActivationFunction::kElu:
      return x > 0 ? x : std::expm1(x);
    case ActivationFunction::kGelu:
      return x * Cumulative(x);
    case ActivationFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationFunction::kTanh:
      return std::tanh(x);
  }
  return 0;
}

double Slope(const Activation& activation, double x) {
  switch (activation.function) {
    case ActivationFunction::kLinear:
    case ActivationFunction::kSoftmax:
      return 1;
    case ActivationFunction::kRelu:
      return x > 0 ? 1 : 0;
    case ActivationFunction::kLeakyRelu:
      return x > 0 ? 1 : activation.leaky_relu_slope;
    case ActivationFunction::kElu:
      return x > 0 ? 1 : std::exp(x);
    case ActivationFunction::kGelu:
      return Cumulative(x) + x * Density(x);
    case ActivationFunction::kSigmoid:
      return 1 / ((1 + std::exp(-x)) * (1 + std::exp(x)));
    case ActivationFunction::kTanh:
      return 1 / (std::cosh(x) * std::cosh(x));
  }
  return 0;
}

// Row by row with reductions evaluated at once: a lazy reduction inside of an expression over the whole
// matrix gives wrong values in xtensor 0.24.
Matrix Softmax(const Matrix& x) {
  Matrix y = x;
  for (size_t i = 0; i < y.shape(0); ++i) {
    auto row = xt::row(y, static_cast<std::ptrdiff_t>(i));
    const double max = xt::amax(row)();
    row = xt::exp(row - max);
    const double sum = xt::sum(row)();
    row /= sum;
  }
  return y;
}

// y * (dy - sum(y * dy)) for each row.
Matrix SoftmaxGradient(const Matrix& y, const Matrix& dy) {
  Matrix dx = y * dy;
  for (size_t i = 0; i < dx.shape(0); ++i) {
    auto row = xt::row(dx, static_cast<std::ptrdiff_t>(i));
    const double product = xt::sum(row)();
    row -= product * xt::row(y, static_cast<std::ptrdiff_t>(i));
  }
  return dx;
}

Matrix Map(const Matrix& x, const std::function<double(double)>& f) {
  Matrix y = x;
  for (double& value : y) value = f(value);
  return y;
}

}  // namespace

void ActivationForward(const Activation& activation, MatrixSize size, const double* x, double* y) {
  if (size.rows == 0) return;  // xtensor computes addresses from a null pointer
  const Matrix input = Read(size, x);
  if (activation.function == ActivationFunction::kSoftmax) return Write(Softmax(input), y);
  Write(Map(input, [&](double value) { return Value(activation, value); }), y);
}

void ActivationBackward(const Activation& activation, MatrixSize size, const double* x, const double*,
                        const double* dy, double* dx) {
  if (size.rows == 0) return;
  const Matrix input = Read(size, x);
  const Matrix gradient = Read(size, dy);
  if (activation.function == ActivationFunction::kSoftmax) {
    return Write(SoftmaxGradient(Softmax(input), gradient), dx);
  }
  Write(gradient * Map(input, [&](double value) { return Slope(activation, value); }), dx);
}

void ColumnSums(MatrixSize size, const double* matrix, double* sums) {
  Matrix sum = xt::zeros<double>(ShapeOf({1, size.columns}));
  for (int64_t row = 0; row < size.rows; ++row) sum += Read({1, size.columns}, matrix + row * size.columns);
  Write(sum, sums);
}

void ApplyDropout(const DropoutMask& mask, MatrixSize size, const double* x, double* y) {
  const int64_t blocks_per_row = (size.columns + 3) / 4;
  for (int64_t i = 0; i < size.rows * size.columns; ++i) {
    const int64_t row = mask.first_row + i / size.columns;
    const int64_t column = i % size.columns;
    const RandomBlock words = Philox(mask.seed, RandomPurpose::kDropout, static_cast<uint64_t>(mask.step),
                                     static_cast<uint64_t>(row * blocks_per_row + column / 4));
    const bool dropped = words[static_cast<size_t>(column % 4)] < mask.rate * 0x1p32;
    y[i] = dropped ? 0 : x[i] / (1 - static_cast<double>(mask.rate));
  }
}

void Product(const MatrixProduct::Options& options, const double* a, const double* b, const double* bias,
             double* c) {
  const auto at = [](const double* matrix, MatrixProduct::Layout layout, MatrixSize size, int64_t i,
                     int64_t j) {
    return layout == MatrixProduct::Layout::kPlain ? matrix[i * size.columns + j] : matrix[j * size.rows + i];
  };
  for (int64_t i = 0; i < options.m; ++i) {
    for (int64_t j = 0; j < options.n; ++j) {
      double sum = options.bias == MatrixProduct::Bias::kAdded ? bias[j] : 0;
      for (int64_t k = 0; k < options.k; ++k) {
        sum +=
            at(a, options.a, {options.m, options.k}, i, k) * at(b, options.b, {options.k, options.n}, k, j);
      }
      c[i * options.n + j] = sum;
    }
  }
}

}  // namespace lockstep::reference

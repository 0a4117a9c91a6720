#include "model/kernels/activation_simd.h"

#include "base/simd.h"

namespace lockstep {
namespace {

// Each function has a value f(x) and a slope f'(x), the latter from x (GELU) or from y (all others).
struct Relu {
  // Written as a selection, since a maximum would turn a NaN into 0.
  Batch Value(Batch x) const { return xsimd::select(x < Batch(0.0f), Batch(0.0f), x); }
  Batch Slope(Batch y) const { return xsimd::select(y > Batch(0.0f), Batch(1.0f), Batch(0.0f)); }
};

struct LeakyRelu {
  float slope;
  Batch Value(Batch x) const { return xsimd::select(x < Batch(0.0f), x * slope, x); }
  Batch Slope(Batch y) const { return xsimd::select(y > Batch(0.0f), Batch(1.0f), Batch(slope)); }
};

struct Elu {
  Batch Value(Batch x) const { return xsimd::select(x < Batch(0.0f), xsimd::expm1(x), x); }
  Batch Slope(Batch y) const { return xsimd::select(y > Batch(0.0f), Batch(1.0f), y + 1.0f); }
};

struct Gelu {
  static constexpr float kSqrtHalf = 0.70710678118654752f;
  static constexpr float kDensityAtZero = 0.39894228040143268f;  // 1 / sqrt(2 pi)

  // Phi(x), by erfc: 1 + erf would cancel for negative x.
  Batch Cumulative(Batch x) const { return xsimd::erfc(x * -kSqrtHalf) * 0.5f; }
  Batch Value(Batch x) const { return x * Cumulative(x); }
  Batch Slope(Batch x) const {
    const Batch density = xsimd::exp(x * x * -0.5f) * kDensityAtZero;
    return xsimd::fma(x, density, Cumulative(x));
  }
};

struct Sigmoid {
  Batch Value(Batch x) const { return Batch(1.0f) / (xsimd::exp(-x) + 1.0f); }
  Batch Slope(Batch y) const { return y * (Batch(1.0f) - y); }
};

struct Tanh {
  Batch Value(Batch x) const { return xsimd::tanh(x); }
  Batch Slope(Batch y) const { return Batch(1.0f) - y * y; }
};

template <typename Function>
void Forward(Function f, int64_t elements, const float* x, float* y) {
  int64_t i = 0;
  for (; i + kWidth <= elements; i += kWidth) Store(f.Value(Load(x + i)), y + i);
  if (i < elements) StorePart(f.Value(LoadPart(x + i, elements - i, 0)), y + i, elements - i);
}

// `at` is where the slope is taken: x or y.
template <typename Function>
void Backward(Function f, int64_t elements, const float* at, const float* dy, float* dx) {
  int64_t i = 0;
  for (; i + kWidth <= elements; i += kWidth) Store(Load(dy + i) * f.Slope(Load(at + i)), dx + i);
  if (i < elements) {
    const int64_t rest = elements - i;
    StorePart(LoadPart(dy + i, rest, 0) * f.Slope(LoadPart(at + i, rest, 0)), dx + i, rest);
  }
}

void CopyElements(int64_t elements, const float* from, float* to) {
  if (from != to) __builtin_memcpy(to, from, elements * sizeof(float));
}

// y = e^(x - max) / sum. The largest exponent is 0, hence the sum is at least 1.
void SoftmaxRow(int64_t columns, const float* x, float* y) {
  const int64_t whole = columns / kWidth * kWidth;
  const int64_t rest = columns - whole;
  constexpr float kLowest = -__builtin_inff();

  Batch maxima(kLowest);
  for (int64_t i = 0; i < whole; i += kWidth) maxima = xsimd::max(maxima, Load(x + i));
  if (rest > 0) maxima = xsimd::max(maxima, LoadPart(x + whole, rest, kLowest));
  const Batch max(MaxLane(maxima));

  Batch sums(0.0f);
  for (int64_t i = 0; i < whole; i += kWidth) {
    const Batch power = xsimd::exp(Load(x + i) - max);
    sums += power;
    Store(power, y + i);
  }
  if (rest > 0) {
    const Batch power = xsimd::exp(LoadPart(x + whole, rest, kLowest) - max);
    sums += power;
    StorePart(power, y + whole, rest);
  }

  const Batch sum(xsimd::hadd(sums));
  for (int64_t i = 0; i < whole; i += kWidth) Store(Load(y + i) / sum, y + i);
  if (rest > 0) StorePart(LoadPart(y + whole, rest, 0) / sum, y + whole, rest);
}

// dx = y * (dy - sum(y * dy))
void SoftmaxRowGradient(int64_t columns, const float* y, const float* dy, float* dx) {
  const int64_t whole = columns / kWidth * kWidth;
  const int64_t rest = columns - whole;

  Batch products(0.0f);
  for (int64_t i = 0; i < whole; i += kWidth) products = xsimd::fma(Load(y + i), Load(dy + i), products);
  if (rest > 0) {
    products = xsimd::fma(LoadPart(y + whole, rest, 0), LoadPart(dy + whole, rest, 0), products);
  }
  const Batch product(xsimd::hadd(products));

  for (int64_t i = 0; i < whole; i += kWidth) Store(Load(y + i) * (Load(dy + i) - product), dx + i);
  if (rest > 0) {
    const Batch gradient = LoadPart(y + whole, rest, 0) * (LoadPart(dy + whole, rest, 0) - product);
    StorePart(gradient, dx + whole, rest);
  }
}

}  // namespace

namespace LOCKSTEP_SIMD {

void ActivationForward(const Activation& activation, MatrixSize size, const float* x, float* y) {
  const int64_t elements = size.rows * size.columns;
  switch (activation.function) {
    case ActivationFunction::kLinear:
      return CopyElements(elements, x, y);
    case ActivationFunction::kRelu:
      return Forward(Relu(), elements, x, y);
    case ActivationFunction::kLeakyRelu:
      return Forward(LeakyRelu{activation.leaky_relu_slope}, elements, x, y);
    case ActivationFunction::kElu:
      return Forward(Elu(), elements, x, y);
    case ActivationFunction::kGelu:
      return Forward(Gelu(), elements, x, y);
    case ActivationFunction::kSigmoid:
      return Forward(Sigmoid(), elements, x, y);
    case ActivationFunction::kTanh:
      return Forward(Tanh(), elements, x, y);
    case ActivationFunction::kSoftmax:
      for (int64_t i = 0; i < elements; i += size.columns) SoftmaxRow(size.columns, x + i, y + i);
      return;
  }
}

void ActivationBackward(const Activation& activation, MatrixSize size, const float* x, const float* y,
                        const float* dy, float* dx) {
  const int64_t elements = size.rows * size.columns;
  switch (activation.function) {
    case ActivationFunction::kLinear:
      return CopyElements(elements, dy, dx);
    case ActivationFunction::kRelu:
      return Backward(Relu(), elements, y, dy, dx);
    case ActivationFunction::kLeakyRelu:
      return Backward(LeakyRelu{activation.leaky_relu_slope}, elements, y, dy, dx);
    case ActivationFunction::kElu:
      return Backward(Elu(), elements, y, dy, dx);
    case ActivationFunction::kGelu:
      return Backward(Gelu(), elements, x, dy, dx);
    case ActivationFunction::kSigmoid:
      return Backward(Sigmoid(), elements, y, dy, dx);
    case ActivationFunction::kTanh:
      return Backward(Tanh(), elements, y, dy, dx);
    case ActivationFunction::kSoftmax:
      for (int64_t i = 0; i < elements; i += size.columns) {
        SoftmaxRowGradient(size.columns, y + i, dy + i, dx + i);
      }
      return;
  }
}

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

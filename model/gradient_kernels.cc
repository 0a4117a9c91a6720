#include "model/gradient_kernels.h"

#include "model/fused_simd.h"
#include "base/simd.h"

namespace lockstep {
namespace {

// 16 floats are one AVX-512 register. A block is 256 of them: 16 additions one after the other at its end
// hardly count, and it stays in the first-level cache.
constexpr int64_t kLanes = 16;
constexpr int64_t kBlock = 4096;

// Sums of squares per lane. A square of a float is exact in double, so only the additions round.
class SquareLanes {
 public:
  // Adds a batch; `position` is that of the batch within its group of 16 elements.
  void Add(int position, Batch values) {
#ifdef __AVX512F__
    AddSquares(_mm512_cvtps_pd(_mm512_castps512_ps256(values)), lanes_[2 * position]);
    AddSquares(_mm512_cvtps_pd(_mm512_extractf32x8_ps(values, 1)), lanes_[2 * position + 1]);
#else
    AddSquares(_mm256_cvtps_pd(_mm256_castps256_ps128(values)), lanes_[2 * position]);
    AddSquares(_mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)), lanes_[2 * position + 1]);
#endif
  }

  // The lanes one after the other.
  double Sum() const {
    alignas(64) double lanes[kLanes];
    for (int i = 0; i < kVectors; ++i) lanes_[i].store_aligned(lanes + i * kVectorWidth);
    double sum = 0;
    for (double lane : lanes) sum += lane;
    return sum;
  }

 private:
  using Doubles = xsimd::batch<double, Batch::arch_type>;
  static constexpr int kVectorWidth = Doubles::size;
  static constexpr int kVectors = kLanes / kVectorWidth;

  static void AddSquares(Doubles values, Doubles& lanes) { lanes = lanes + values * values; }

  Doubles lanes_[kVectors] = {};
};

struct Unchanged {
  Batch operator()(Batch value, int64_t, int64_t) const { return value; }
};

struct Divide {
  Batch operator()(Batch value, int64_t, int64_t) const { return value / divisor; }
  Batch divisor;
};

struct DivideAndRegularize {
  Batch operator()(Batch value, int64_t i, int64_t count) const {
    const Batch p = count == kWidth ? Load(parameters + i) : LoadPart(parameters + i, count, 0);
    return MultiplyAdd(factor, p, value / divisor);
  }
  Batch divisor;
  Batch factor;
  const float* parameters;
};

enum class Output { kStore, kNone };

// Applies transform(batch, offset, elements in it) to all values and returns the sum of the results' squares.
template <Output output, typename Value, typename Transform>
double TransformAndSum(Value* values, int64_t size, const Transform& transform) {
  double sum = 0;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t end = size - begin < kBlock ? size : begin + kBlock;
    SquareLanes lanes;
    for (int64_t i = begin; i < end; i += kWidth) {
      const int64_t count = end - i < kWidth ? end - i : kWidth;
      const bool whole = count == kWidth;
      const Batch result = transform(whole ? Load(values + i) : LoadPart(values + i, count, 0), i, count);
      // Where the tail was padded, the transforms make 0 / weight + factor * 0 of zeros: nothing is added.
      lanes.Add(static_cast<int>(i % kLanes / kWidth), result);
      if constexpr (output == Output::kStore) {
        whole ? Store(result, values + i) : StorePart(result, values + i, count);
      }
    }
    sum += lanes.Sum();
  }
  return sum;
}

double Finish(float weight, float factor, const float* parameters, float* gradients, int64_t size) {
  if (factor == 0) return TransformAndSum<Output::kStore>(gradients, size, Divide{Batch(weight)});
  return TransformAndSum<Output::kStore>(gradients, size,
                                         DivideAndRegularize{Batch(weight), Batch(factor), parameters});
}

double SumOfSquares(const float* values, int64_t size) {
  return TransformAndSum<Output::kNone>(values, size, Unchanged());
}

template <typename Transform>
void TransformInPlace(float* values, int64_t size, const Transform& transform) {
  int64_t i = 0;
  for (; i + kWidth <= size; i += kWidth) Store(transform(Load(values + i)), values + i);
  if (i < size) StorePart(transform(LoadPart(values + i, size - i, 0)), values + i, size - i);
}

void Scale(float factor, float* values, int64_t size) {
  const Batch factors(factor);
  TransformInPlace(values, size, [&](Batch value) { return value * factors; });
}

void Clamp(float limit, float* values, int64_t size) {
  const Batch low(-limit), high(limit);
  TransformInPlace(values, size, [&](Batch value) { return xsimd::min(xsimd::max(value, low), high); });
}

}  // namespace

namespace LOCKSTEP_SIMD {

extern const GradientKernels kGradientKernels = {&Finish, &SumOfSquares, &Scale, &Clamp};

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

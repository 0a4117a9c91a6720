// The bodies of gradient_kernels.h for one instruction set. Included by gradient_kernels_avx2.cc and
// gradient_kernels_avx512.cc alone; see simd_batch.h for why everything is in an unnamed namespace.
#ifndef LOCKSTEP_MODEL_GRADIENT_KERNELS_SIMD_H_
#define LOCKSTEP_MODEL_GRADIENT_KERNELS_SIMD_H_

#include "model/gradient_kernels.h"
#include "model/simd_batch.h"

namespace lockstep {
namespace {

// 16 floats are one AVX-512 register. A block is long enough to hide the adding up of its lanes (1 % of its
// cost) and short enough to stay in the first-level cache.
constexpr int64_t kLanes = 16;
constexpr int64_t kBlock = 4096;

// Sums of squares per lane. A square of a float is exact in double, so only the additions round.
template <typename Arch>
class SquareLanes;

template <>
class SquareLanes<Avx2> {
 public:
  // Adds the batch at position 0 or 1 of a group of 16 elements.
  void Add(int position, const Avx2Batch& values) {
    AddSquares(_mm256_cvtps_pd(_mm256_castps256_ps128(values)), lanes_[2 * position]);
    AddSquares(_mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)), lanes_[2 * position + 1]);
  }
  void Store(double* lanes) const {
    for (int i = 0; i < 4; ++i) _mm256_storeu_pd(lanes + 4 * i, lanes_[i]);
  }

 private:
  static void AddSquares(__m256d values, __m256d& lane) { lane = _mm256_fmadd_pd(values, values, lane); }

  __m256d lanes_[4] = {};
};

#if XSIMD_WITH_AVX512BW
template <>
class SquareLanes<Avx512> {
 public:
  void Add(int, const Avx512Batch& values) {
    AddSquares(_mm512_cvtps_pd(_mm512_castps512_ps256(values)), lanes_[0]);
    AddSquares(_mm512_cvtps_pd(_mm512_extractf32x8_ps(values, 1)), lanes_[1]);
  }
  void Store(double* lanes) const {
    for (int i = 0; i < 2; ++i) _mm512_storeu_pd(lanes + 8 * i, lanes_[i]);
  }

 private:
  static void AddSquares(__m512d values, __m512d& lane) { lane = _mm512_fmadd_pd(values, values, lane); }

  __m512d lanes_[2] = {};
};
#endif

// Calls visit(offset, position, size) for each batch of a range: position within its group of 16 elements,
// and the elements left for it, at most a batch.
template <int64_t kWidth, typename Visit>
void ForEachBatch(int64_t begin, int64_t end, Visit visit) {
  for (int64_t i = begin; i < end; i += kWidth) {
    visit(i, static_cast<int>(i % kLanes / kWidth), end - i < kWidth ? end - i : kWidth);
  }
}

// Applies transform(batch, offset, size) to all values, stores the results if `store` and returns the sum
// of their squares.
template <typename Arch, bool kStore, typename Value, typename Transform>
double TransformAndSum(Value* values, int64_t size, const Transform& transform) {
  using Batch = xsimd::batch<float, Arch>;
  constexpr int64_t kWidth = Batch::size;
  double sum = 0;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t end = size - begin < kBlock ? size : begin + kBlock;
    SquareLanes<Arch> lanes;
    ForEachBatch<kWidth>(begin, end, [&](int64_t i, int position, int64_t count) {
      const bool whole = count == kWidth;
      Batch batch = whole ? Batch::load_unaligned(values + i) : LoadPartial<Arch>(values + i, count);
      batch = transform(batch, i, count);
      lanes.Add(position, batch);
      if constexpr (kStore) {
        whole ? batch.store_unaligned(values + i) : StorePartial<Arch>(batch, values + i, count);
      }
    });
    double block[kLanes];
    lanes.Store(block);
    double block_sum = 0;
    for (double lane : block) block_sum += lane;
    sum += block_sum;
  }
  return sum;
}

template <typename Arch>
double Finish(float weight, float factor, const float* parameters, float* gradients, int64_t size) {
  using Batch = xsimd::batch<float, Arch>;
  const Batch divisor(weight);
  if (factor == 0) {
    return TransformAndSum<Arch, true>(gradients, size,
                                       [&](const Batch& g, int64_t, int64_t) { return g / divisor; });
  }
  const Batch factors(factor);
  return TransformAndSum<Arch, true>(gradients, size, [&](const Batch& g, int64_t i, int64_t count) {
    const Batch p = count == static_cast<int64_t>(Batch::size) ? Batch::load_unaligned(parameters + i)
                                                               : LoadPartial<Arch>(parameters + i, count);
    return MultiplyAdd(factors, p, g / divisor);
  });
}

template <typename Arch>
double SumOfSquares(const float* values, int64_t size) {
  using Batch = xsimd::batch<float, Arch>;
  return TransformAndSum<Arch, false>(values, size, [](const Batch& v, int64_t, int64_t) { return v; });
}

template <typename Arch, typename Transform>
void TransformInPlace(float* values, int64_t size, const Transform& transform) {
  using Batch = xsimd::batch<float, Arch>;
  constexpr int64_t kWidth = Batch::size;
  int64_t i = 0;
  for (; i + kWidth <= size; i += kWidth) {
    transform(Batch::load_unaligned(values + i)).store_unaligned(values + i);
  }
  if (i < size) StorePartial<Arch>(transform(LoadPartial<Arch>(values + i, size - i)), values + i, size - i);
}

template <typename Arch>
void Scale(float factor, float* values, int64_t size) {
  using Batch = xsimd::batch<float, Arch>;
  const Batch factors(factor);
  TransformInPlace<Arch>(values, size, [&](const Batch& v) { return v * factors; });
}

template <typename Arch>
void Clamp(float limit, float* values, int64_t size) {
  using Batch = xsimd::batch<float, Arch>;
  const Batch low(-limit), high(limit);
  TransformInPlace<Arch>(values, size, [&](const Batch& v) { return xsimd::min(xsimd::max(v, low), high); });
}

template <typename Arch>
constexpr GradientKernels MakeGradientKernels() {
  return {&Finish<Arch>, &SumOfSquares<Arch>, &Scale<Arch>, &Clamp<Arch>};
}

}  // namespace
}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_GRADIENT_KERNELS_SIMD_H_

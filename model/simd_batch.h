// The few vector operations that xsimd leaves open to the compiler, with one meaning on every instruction
// set. For kernel files that are compiled for one instruction set; nothing else may include this.
//
// xsimd 8.1 has no fused multiply-add for AVX-512: it multiplies and adds with two roundings, where AVX2
// rounds once, and the two kinds of nodes would drift apart. These are fused on both.
//
// Everything is in an unnamed namespace: a function shared between two files of different instruction sets
// would be merged by the linker, and the survivor may not run on the smaller processor. For the same reason
// kernel files call no function templates of the standard library.
#ifndef LOCKSTEP_MODEL_SIMD_BATCH_H_
#define LOCKSTEP_MODEL_SIMD_BATCH_H_

#include <cstdint>

#include "xsimd/xsimd.hpp"

namespace lockstep {
namespace {

using Avx2 = xsimd::avx2;
using Avx2Batch = xsimd::batch<float, Avx2>;

// x * y + z, rounded once.
inline Avx2Batch MultiplyAdd(const Avx2Batch& x, const Avx2Batch& y, const Avx2Batch& z) {
  return _mm256_fmadd_ps(x, y, z);
}
// x * y - z, rounded once.
inline Avx2Batch MultiplySubtract(const Avx2Batch& x, const Avx2Batch& y, const Avx2Batch& z) {
  return _mm256_fmsub_ps(x, y, z);
}
// z - x * y, rounded once.
inline Avx2Batch SubtractProduct(const Avx2Batch& z, const Avx2Batch& x, const Avx2Batch& y) {
  return _mm256_fnmadd_ps(x, y, z);
}

#if XSIMD_WITH_AVX512BW
using Avx512 = xsimd::avx512bw;
using Avx512Batch = xsimd::batch<float, Avx512>;

inline Avx512Batch MultiplyAdd(const Avx512Batch& x, const Avx512Batch& y, const Avx512Batch& z) {
  return _mm512_fmadd_ps(x, y, z);
}
inline Avx512Batch MultiplySubtract(const Avx512Batch& x, const Avx512Batch& y, const Avx512Batch& z) {
  return _mm512_fmsub_ps(x, y, z);
}
inline Avx512Batch SubtractProduct(const Avx512Batch& z, const Avx512Batch& x, const Avx512Batch& y) {
  return _mm512_fnmadd_ps(x, y, z);
}
#endif

// Loads `size` elements, fewer than a batch holds, in front of zeros.
template <typename Arch>
xsimd::batch<float, Arch> LoadPartial(const float* values, int64_t size) {
  alignas(64) float padded[xsimd::batch<float, Arch>::size] = {};
  for (int64_t i = 0; i < size; ++i) padded[i] = values[i];
  return xsimd::batch<float, Arch>::load_aligned(padded);
}

// Stores the first `size` elements.
template <typename Arch>
void StorePartial(const xsimd::batch<float, Arch>& batch, float* values, int64_t size) {
  alignas(64) float padded[xsimd::batch<float, Arch>::size];
  batch.store_aligned(padded);
  for (int64_t i = 0; i < size; ++i) values[i] = padded[i];
}

}  // namespace
}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_SIMD_BATCH_H_

// Vectors of float for sources that are compiled once per instruction set (simd_library.bzl). Everything here
// is in an anonymous namespace: the compilations must not share a function.
#ifndef LOCKSTEP_BASE_SIMD_H_
#define LOCKSTEP_BASE_SIMD_H_

#include <cstdint>
#include <xsimd/xsimd.hpp>

namespace lockstep {
namespace {

#ifdef __AVX512F__
using Batch = xsimd::batch<float, xsimd::avx512bw>;
#else
using Batch = xsimd::batch<float, xsimd::fma3<xsimd::avx2> >;
#endif

constexpr int64_t kWidth = Batch::size;

[[maybe_unused]] Batch Load(const float* from) { return Batch::load_unaligned(from); }
[[maybe_unused]] void Store(Batch value, float* to) { value.store_unaligned(to); }

// The first `count` lanes from memory, the others `fill`.
[[maybe_unused]] Batch LoadPart(const float* from, int64_t count, float fill) {
  alignas(64) float lanes[kWidth];
  for (int64_t i = 0; i < kWidth; ++i) lanes[i] = i < count ? from[i] : fill;
  return Batch::load_aligned(lanes);
}

// The first `count` lanes to memory.
[[maybe_unused]] void StorePart(Batch value, float* to, int64_t count) {
  alignas(64) float lanes[kWidth];
  value.store_aligned(lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

[[maybe_unused]] float MaxLane(Batch value) {
  alignas(64) float lanes[kWidth];
  value.store_aligned(lanes);
  float max = lanes[0];
  for (int64_t i = 1; i < kWidth; ++i) max = lanes[i] > max ? lanes[i] : max;
  return max;
}

}  // namespace
}  // namespace lockstep

#endif  // LOCKSTEP_BASE_SIMD_H_

// Multiply-add with one rounding on every instruction set, for sources that are compiled once per instruction
// set and whose results must have the same bits on all of them.
//
// xsimd 8.1 fuses on AVX2 only: for AVX-512 its fma() multiplies and adds with two roundings, and the two
// kinds of nodes would drift apart.
#ifndef LOCKSTEP_MODEL_FUSED_SIMD_H_
#define LOCKSTEP_MODEL_FUSED_SIMD_H_

#include "base/simd.h"

namespace lockstep {
namespace {

#ifdef __AVX512F__
// x * y + z
[[maybe_unused]] Batch MultiplyAdd(Batch x, Batch y, Batch z) { return _mm512_fmadd_ps(x, y, z); }
// x * y - z
[[maybe_unused]] Batch MultiplySubtract(Batch x, Batch y, Batch z) { return _mm512_fmsub_ps(x, y, z); }
// z - x * y
[[maybe_unused]] Batch SubtractProduct(Batch z, Batch x, Batch y) { return _mm512_fnmadd_ps(x, y, z); }
#else
[[maybe_unused]] Batch MultiplyAdd(Batch x, Batch y, Batch z) { return _mm256_fmadd_ps(x, y, z); }
[[maybe_unused]] Batch MultiplySubtract(Batch x, Batch y, Batch z) { return _mm256_fmsub_ps(x, y, z); }
[[maybe_unused]] Batch SubtractProduct(Batch z, Batch x, Batch y) { return _mm256_fnmadd_ps(x, y, z); }
#endif

}  // namespace
}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_FUSED_SIMD_H_

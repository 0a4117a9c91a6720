#include "collective/half_simd.h"

#include <immintrin.h>

namespace lockstep {
namespace LOCKSTEP_SIMD {
namespace {

constexpr int64_t kLanes = 8;

uint32_t BitsOf(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FloatOf(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// To the nearest, ties to even; a NaN stays one. The compiler makes vectors of it.
uint16_t Bfloat16Of(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(is_nan ? quiet_nan : rounded);
}

float FloatOfBfloat16(uint16_t half) { return FloatOf(static_cast<uint32_t>(half) << 16); }

__m128i Load8(const uint16_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

// The instruction rounds as above, whatever the mode of the thread.
__m128i Float16Of(__m256 values) {
  return _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

float FloatOfFloat16(uint16_t half) { return _cvtsh_ss(half); }

}  // namespace

void EncodeBfloat16(const float* from, int64_t size, uint16_t* to) {
  for (int64_t i = 0; i < size; ++i) to[i] = Bfloat16Of(from[i]);
}

void DecodeBfloat16(const uint16_t* from, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) to[i] = FloatOfBfloat16(from[i]);
}

void AddBfloat16(const uint16_t* from, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) to[i] += FloatOfBfloat16(from[i]);
}

void EncodeFloat16(const float* from, int64_t size, uint16_t* to) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), Float16Of(_mm256_loadu_ps(from + i)));
  for (; i < size; ++i) to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

void DecodeFloat16(const uint16_t* from, int64_t size, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(Load8(from + i)));
  for (; i < size; ++i) to[i] = FloatOfFloat16(from[i]);
}

void AddFloat16(const uint16_t* from, int64_t size, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(to + i), _mm256_cvtph_ps(Load8(from + i)));
    _mm256_storeu_ps(to + i, sum);
  }
  for (; i < size; ++i) to[i] += FloatOfFloat16(from[i]);
}

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

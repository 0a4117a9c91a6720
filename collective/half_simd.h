// The loops of half.h, for one instruction set each. `size` elements; the arrays do not overlap.
#ifndef LOCKSTEP_COLLECTIVE_HALF_SIMD_H_
#define LOCKSTEP_COLLECTIVE_HALF_SIMD_H_

#include <cstdint>

namespace lockstep {
namespace avx2 {

void EncodeBfloat16(const float* from, int64_t size, uint16_t* to);
void DecodeBfloat16(const uint16_t* from, int64_t size, float* to);
void AddBfloat16(const uint16_t* from, int64_t size, float* to);
void EncodeFloat16(const float* from, int64_t size, uint16_t* to);
void DecodeFloat16(const uint16_t* from, int64_t size, float* to);
void AddFloat16(const uint16_t* from, int64_t size, float* to);

}  // namespace avx2
namespace avx512 {

void EncodeBfloat16(const float* from, int64_t size, uint16_t* to);
void DecodeBfloat16(const uint16_t* from, int64_t size, float* to);
void AddBfloat16(const uint16_t* from, int64_t size, float* to);
void EncodeFloat16(const float* from, int64_t size, uint16_t* to);
void DecodeFloat16(const uint16_t* from, int64_t size, float* to);
void AddFloat16(const uint16_t* from, int64_t size, float* to);

}  // namespace avx512
}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_HALF_SIMD_H_

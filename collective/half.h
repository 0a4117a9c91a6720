// Floats in 16 bits, as they travel when gradients are compressed. Rounded to the nearest, ties to even;
// infinities and NaN stay what they are.
//
//   bfloat16   the exponent of a float, 8 bits of precision: no overflow, coarse.
//   float16    11 bits of precision; beyond 65504 it is infinite, below 6e-8 zero.
#ifndef LOCKSTEP_COLLECTIVE_HALF_H_
#define LOCKSTEP_COLLECTIVE_HALF_H_

#include <cstdint>

#include "absl/types/span.h"
#include "collective/communicator.h"

namespace lockstep {

// `compression` is not kNone; the spans have the same size and do not overlap.
void Encode(Compression compression, absl::Span<const float> from, absl::Span<uint16_t> to);
void Decode(Compression compression, absl::Span<const uint16_t> from, absl::Span<float> to);
// to[i] = to[i] + from[i], in single precision.
void AddDecoded(Compression compression, absl::Span<const uint16_t> from, absl::Span<float> to);

// Each value becomes the one that is left of it after Encode and Decode; kNone: it stays.
void RoundInPlace(Compression compression, absl::Span<float> values);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_HALF_H_

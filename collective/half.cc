#include "collective/half.h"

#include <array>

#include "base/cpu.h"
#include "collective/half_simd.h"

namespace lockstep {
namespace {

// Stays in the first-level cache.
constexpr size_t kBlock = 2048;

struct Loops {
  void (*encode)(const float* from, int64_t size, uint16_t* to);
  void (*decode)(const uint16_t* from, int64_t size, float* to);
  void (*add)(const uint16_t* from, int64_t size, float* to);
};

Loops LoopsOf(Compression compression) {
  const bool avx512 = BestInstructionSet() == InstructionSet::kAvx512;
  if (compression == Compression::kBfloat16) {
    if (avx512) return {&avx512::EncodeBfloat16, &avx512::DecodeBfloat16, &avx512::AddBfloat16};
    return {&avx2::EncodeBfloat16, &avx2::DecodeBfloat16, &avx2::AddBfloat16};
  }
  if (avx512) return {&avx512::EncodeFloat16, &avx512::DecodeFloat16, &avx512::AddFloat16};
  return {&avx2::EncodeFloat16, &avx2::DecodeFloat16, &avx2::AddFloat16};
}

}  // namespace

void Encode(Compression compression, absl::Span<const float> from, absl::Span<uint16_t> to) {
  LoopsOf(compression).encode(from.data(), static_cast<int64_t>(from.size()), to.data());
}

void Decode(Compression compression, absl::Span<const uint16_t> from, absl::Span<float> to) {
  LoopsOf(compression).decode(from.data(), static_cast<int64_t>(from.size()), to.data());
}

void AddDecoded(Compression compression, absl::Span<const uint16_t> from, absl::Span<float> to) {
  LoopsOf(compression).add(from.data(), static_cast<int64_t>(from.size()), to.data());
}

void RoundInPlace(Compression compression, absl::Span<float> values) {
  if (compression == Compression::kNone) return;
  std::array<uint16_t, kBlock> block;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const absl::Span<float> part = values.subspan(begin, kBlock);
    const absl::Span<uint16_t> encoded = absl::MakeSpan(block).first(part.size());
    Encode(compression, part, encoded);
    Decode(compression, encoded, part);
  }
}

}  // namespace lockstep

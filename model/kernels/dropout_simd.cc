// Philox 4x32-10 (Salmon et al. 2011) for several blocks at once. Each 64-bit lane is a block; a vector holds
// one of its four words in the lanes' low halves. The high halves hold remains that nothing reads: the
// multiplication takes low halves only. The values are those of base/random.h.
#include "model/kernels/dropout_simd.h"

#include <immintrin.h>

namespace lockstep {
namespace {

#ifdef __AVX512F__
using Words = __m512i;
Words Repeat(uint64_t value) { return _mm512_set1_epi64(static_cast<int64_t>(value)); }
Words LoadLanes(const uint64_t* from) { return _mm512_loadu_si512(from); }
Words Multiply(Words a, Words b) { return _mm512_mul_epu32(a, b); }
Words HighHalf(Words a) { return _mm512_srli_epi64(a, 32); }
Words ToHighHalf(Words a) { return _mm512_slli_epi64(a, 32); }
Words And(Words a, Words b) { return _mm512_and_si512(a, b); }
Words Or(Words a, Words b) { return _mm512_or_si512(a, b); }
Words Xor(Words a, Words b) { return _mm512_xor_si512(a, b); }
// a0 b0 a1 b1 ...
void StoreInterleaved(Words a, Words b, uint32_t* to) {
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(a, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), b));
  _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), b));
}
#else
using Words = __m256i;
Words Repeat(uint64_t value) { return _mm256_set1_epi64x(static_cast<int64_t>(value)); }
Words LoadLanes(const uint64_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
Words Multiply(Words a, Words b) { return _mm256_mul_epu32(a, b); }
Words HighHalf(Words a) { return _mm256_srli_epi64(a, 32); }
Words ToHighHalf(Words a) { return _mm256_slli_epi64(a, 32); }
Words And(Words a, Words b) { return _mm256_and_si256(a, b); }
Words Or(Words a, Words b) { return _mm256_or_si256(a, b); }
Words Xor(Words a, Words b) { return _mm256_xor_si256(a, b); }
// a0 b0 a1 b1 ...
void StoreInterleaved(Words a, Words b, uint32_t* to) {
  const Words even = _mm256_unpacklo_epi64(a, b);  // a0 b0 a2 b2
  const Words odd = _mm256_unpackhi_epi64(a, b);   // a1 b1 a3 b3
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}
#endif

constexpr int64_t kLanes = sizeof(Words) / sizeof(uint64_t);
constexpr int64_t kBlockWords = 4;
constexpr int64_t kWordsAtOnce = kLanes * kBlockWords;

// Writes the words of the blocks `first_block` to `first_block + kLanes - 1` in order.
void RandomWords(uint64_t key, uint64_t high, uint64_t first_block, uint32_t* words) {
  uint64_t counters[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) counters[i] = first_block + static_cast<uint64_t>(i);
  Words word0 = LoadLanes(counters);
  Words word1 = HighHalf(word0);
  Words word2 = Repeat(high);
  Words word3 = HighHalf(word2);
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words product0 = Multiply(word0, Repeat(0xD2511F53));
    const Words product1 = Multiply(word2, Repeat(0xCD9E8D57));
    word0 = Xor(Xor(HighHalf(product1), word1), Repeat(key0));
    word1 = product1;
    word2 = Xor(Xor(HighHalf(product0), word3), Repeat(key1));
    word3 = product0;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  const Words low_halves = Repeat(0xFFFFFFFF);
  StoreInterleaved(Or(And(word0, low_halves), ToHighHalf(word1)),
                   Or(And(word2, low_halves), ToHighHalf(word3)), words);
}

// `value` or 0. By masking bits: the compiler makes a branch of a choice between floats, and every other one
// of those would be mispredicted (three times the time of the whole function at a rate of 0.5).
float KeepIf(bool keep, float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  bits &= -static_cast<uint32_t>(keep);
  __builtin_memcpy(&value, &bits, sizeof(bits));
  return value;
}

}  // namespace

namespace LOCKSTEP_SIMD {

void ApplyDropout(const DropoutStream& stream, MatrixSize size, const float* x, float* y) {
  const int64_t blocks_per_row = (size.columns + kBlockWords - 1) / kBlockWords;
  for (int64_t row = 0; row < size.rows; ++row, x += size.columns, y += size.columns) {
    const auto first_block = static_cast<uint64_t>((stream.first_row + row) * blocks_per_row);
    for (int64_t begin = 0; begin < size.columns; begin += kWordsAtOnce) {
      uint32_t words[kWordsAtOnce];
      RandomWords(stream.key, stream.step, first_block + static_cast<uint64_t>(begin / kBlockWords), words);
      const int64_t rest = size.columns - begin;
      const int64_t count = rest < kWordsAtOnce ? rest : kWordsAtOnce;
      for (int64_t i = 0; i < count; ++i) {
        y[begin + i] = KeepIf(words[i] >= stream.threshold, x[begin + i] * stream.scale);
      }
    }
  }
}

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

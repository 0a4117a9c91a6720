#include "model/kernels/dropout.h"

#include "base/cpu.h"
#include "base/random.h"
#include "model/kernels/dropout_simd.h"

namespace lockstep {

void ApplyDropout(const DropoutMask& mask, MatrixSize size, const float* x, float* y) {
  DropoutStream stream;
  stream.key = PhiloxKey(mask.seed, RandomPurpose::kDropout);
  stream.step = static_cast<uint64_t>(mask.step);
  stream.first_row = mask.first_row;
  // A random word is below it with probability `rate`. Exact: a float below 1 has 24 bits, a word 32.
  stream.threshold = static_cast<uint32_t>(mask.rate * 0x1p32f);
  stream.scale = 1 / (1 - mask.rate);
  if (BestInstructionSet() == InstructionSet::kAvx512) {
    avx512::ApplyDropout(stream, size, x, y);
  } else {
    avx2::ApplyDropout(stream, size, x, y);
  }
}

}  // namespace lockstep

#include "model/kernels/dropout.h"

#include <algorithm>

#include "base/random.h"

namespace lockstep {
namespace {

constexpr int64_t kBlock = 4;  // words of one RandomBlock

}  // namespace

void ApplyDropout(const DropoutMask& mask, MatrixSize size, const float* x, float* y) {
  // A word is below it with probability `rate`. Exact: a float below 1 has 24 bits, a word 32.
  const auto threshold = static_cast<uint32_t>(mask.rate * 0x1p32f);
  const float scale = 1 / (1 - mask.rate);
  const int64_t blocks_per_row = (size.columns + kBlock - 1) / kBlock;
  for (int64_t row = 0; row < size.rows; ++row, x += size.columns, y += size.columns) {
    const uint64_t first_block = static_cast<uint64_t>((mask.first_row + row) * blocks_per_row);
    for (int64_t begin = 0; begin < size.columns; begin += kBlock) {
      const RandomBlock words = Philox(mask.seed, RandomPurpose::kDropout, static_cast<uint64_t>(mask.step),
                                       first_block + static_cast<uint64_t>(begin / kBlock));
      const int64_t count = std::min(kBlock, size.columns - begin);
      for (int64_t i = 0; i < count; ++i) y[begin + i] = words[i] < threshold ? 0 : x[begin + i] * scale;
    }
  }
}

}  // namespace lockstep

#include "model/kernels/column_sums_simd.h"

#include "base/simd.h"

namespace lockstep {
namespace {

// Rows are summed in blocks and the blocks' sums then: the rounding error grows with the block and the number
// of blocks, not with the number of rows (a dense layer over a time axis has many).
constexpr int64_t kBlockRows = 128;

// Sums `size.rows` rows of the columns that `load` reads from the beginning of a row.
template <typename LoadColumns>
Batch SumRows(MatrixSize size, const float* matrix, LoadColumns load) {
  Batch total(0.0f);
  for (int64_t begin = 0; begin < size.rows; begin += kBlockRows) {
    const int64_t end = begin + kBlockRows < size.rows ? begin + kBlockRows : size.rows;
    Batch sum(0.0f);
    for (int64_t row = begin; row < end; ++row) sum += load(matrix + row * size.columns);
    total += sum;
  }
  return total;
}

}  // namespace

namespace LOCKSTEP_SIMD {

void ColumnSums(MatrixSize size, const float* matrix, float* sums) {
  int64_t column = 0;
  for (; column + kWidth <= size.columns; column += kWidth) {
    Store(SumRows(size, matrix + column, [](const float* row) { return Load(row); }), sums + column);
  }
  if (const int64_t rest = size.columns - column; rest > 0) {
    const auto load = [rest](const float* row) { return LoadPart(row, rest, 0); };
    StorePart(SumRows(size, matrix + column, load), sums + column, rest);
  }
}

}  // namespace LOCKSTEP_SIMD
}  // namespace lockstep

#include "model/arena.h"

#include "absl/strings/str_cat.h"
#include "base/physical_memory.h"

namespace lockstep {
namespace {

// Slices begin at multiples of this many elements: one cache line.
constexpr int64_t kAlignment = AlignedBytes::kAlignment / sizeof(float);

}  // namespace

// A slice begins at a whole number of `max_rows`, so rounding them up aligns all slices.
Arena::Arena(int64_t max_rows) : max_rows_((max_rows + kAlignment - 1) / kAlignment * kAlignment) {}

int64_t Arena::Reserve(int64_t elements_per_row) {
  const int64_t slice = elements_per_row_;
  elements_per_row_ += elements_per_row;
  return slice;
}

absl::Status Arena::Allocate() {
  const int64_t bytes_per_row = elements_per_row_ * static_cast<int64_t>(sizeof(float));
  if (bytes_per_row > 0 && max_rows_ > PhysicalMemoryBytes() / bytes_per_row) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "activations of ", max_rows_, " rows need ", bytes_per_row, " bytes per row, more than the ",
        PhysicalMemoryBytes(), " bytes of this machine; use a smaller batch"));
  }
  buffer_ = AlignedBuffer<float>(static_cast<size_t>(elements_per_row_ * max_rows_));
  return absl::OkStatus();
}

}  // namespace lockstep

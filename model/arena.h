// One allocation for the activations of a network, planned slice by slice before it is made. One-thread.
#ifndef LOCKSTEP_MODEL_ARENA_H_
#define LOCKSTEP_MODEL_ARENA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/aligned_buffer.h"

namespace lockstep {

class Arena {
 public:
  Arena() = default;
  // Plans for passes of up to `max_rows` rows.
  explicit Arena(int64_t max_rows);

  // Reserves a slice for `elements_per_row` and returns its name for Slice.
  int64_t Reserve(int64_t elements_per_row);

  // Errors: RESOURCE_EXHAUSTED the slices need more memory than the machine has.
  absl::Status Allocate();

  // The slice's first element, 64-byte aligned. Valid after Allocate.
  float* Slice(int64_t slice) const { return buffer_.data() + slice * max_rows_; }
  int64_t bytes() const { return static_cast<int64_t>(buffer_.size() * sizeof(float)); }

 private:
  int64_t max_rows_ = 0;
  int64_t elements_per_row_ = 0;
  AlignedBuffer<float> buffer_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_ARENA_H_

// Floats at a chosen distance from an aligned address, between sentinels that a kernel must not touch. For
// tests.
#ifndef LOCKSTEP_MODEL_KERNELS_GUARDED_ARRAY_H_
#define LOCKSTEP_MODEL_KERNELS_GUARDED_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"

namespace lockstep {

class GuardedArray {
 public:
  // `misalignment` is in elements.
  GuardedArray(int64_t size, int64_t misalignment)
      : begin_(kGuard + misalignment), size_(size), buffer_(static_cast<size_t>(begin_ + size + kGuard)) {
    for (float& value : buffer_.span()) value = kSentinel;
  }

  GuardedArray(const std::vector<double>& values, int64_t misalignment)
      : GuardedArray(static_cast<int64_t>(values.size()), misalignment) {
    for (size_t i = 0; i < values.size(); ++i) data()[i] = static_cast<float>(values[i]);
  }

  float* data() const { return buffer_.data() + begin_; }

  // The values, which are exact in double.
  std::vector<double> values() const { return {data(), data() + size_}; }

  bool intact() const {
    for (int64_t i = 0; i < static_cast<int64_t>(buffer_.size()); ++i) {
      const bool inside = i >= begin_ && i < begin_ + size_;
      if (!inside && buffer_.data()[i] != kSentinel) return false;
    }
    return true;
  }

 private:
  static constexpr float kSentinel = 12345.0f;
  static constexpr int64_t kGuard = 32;  // two AVX-512 registers

  int64_t begin_;
  int64_t size_;
  AlignedBuffer<float> buffer_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_GUARDED_ARRAY_H_

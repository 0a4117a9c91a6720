// One allocation, aligned for vector instructions and, when large, on huge pages. Move-only.
//
// Why huge pages: first touch of fresh 4 KiB pages was measured at 0.37 GB/s against 17 GB/s with
// MADV_HUGEPAGE on the machine of docs/performance.md.
#ifndef LOCKSTEP_BASE_ALIGNED_BUFFER_H_
#define LOCKSTEP_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <memory>

#include "absl/types/span.h"

namespace lockstep {

class AlignedBytes {
 public:
  static constexpr size_t kAlignment = 64;  // one AVX-512 register, one cache line

  AlignedBytes() = default;
  // Zero-filled.
  explicit AlignedBytes(size_t bytes);

  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

// The same as an array of T.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size) : bytes_(size * sizeof(T)) {}

  T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  size_t size() const { return bytes_.size() / sizeof(T); }
  absl::Span<T> span() const { return absl::MakeSpan(data(), size()); }
  T& operator[](size_t i) const { return data()[i]; }

 private:
  AlignedBytes bytes_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_ALIGNED_BUFFER_H_

#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace lockstep {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;  // x86-64

size_t RoundUp(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

AlignedBytes::AlignedBytes(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const bool huge = bytes >= kHugePage;
  const size_t alignment = huge ? kHugePage : kAlignment;
  const size_t rounded = RoundUp(bytes, alignment);
  void* data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) throw std::bad_alloc();
  // Advice: where it is not taken, memory is only slower.
  if (huge) madvise(data, rounded, MADV_HUGEPAGE);
  std::memset(data, 0, bytes);
  data_.reset(static_cast<std::byte*>(data));
}

void AlignedBytes::Free::operator()(std::byte* data) const { std::free(data); }

}  // namespace lockstep

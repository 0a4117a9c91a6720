#include "collective/transport/parts_sink.h"

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

// values[i] += the i-th element in `data`, which need not be aligned.
template <typename T>
void AddElements(T* __restrict values, const char* __restrict data, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    values[i] += value;
  }
}

}  // namespace

void PartsSink::Consume(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  const size_t floats_begin = parts_.doubles.size() * sizeof(double);
  const size_t bytes_begin = floats_begin + parts_.floats.size() * sizeof(float);
  ConsumePart(parts_.doubles, 0, &bytes, &size);
  ConsumePart(parts_.floats, floats_begin, &bytes, &size);
  ConsumePart(parts_.bytes, bytes_begin, &bytes, &size);
}

template <typename T>
void PartsSink::ConsumePart(absl::Span<T> part, size_t part_begin, const char** data, size_t* size) {
  const size_t part_end = part_begin + part.size() * sizeof(T);
  if (*size == 0 || position_ >= part_end) return;
  const size_t count = std::min(*size, part_end - position_);
  const size_t offset = position_ - part_begin;
  if (mode_ == ReceiveMode::kOverwrite || sizeof(T) == 1) {
    std::memcpy(reinterpret_cast<char*>(part.data()) + offset, *data, count);
  } else {
    Add(part, offset, *data, count);
  }
  position_ += count;
  *data += count;
  *size -= count;
}

template <typename T>
void PartsSink::Add(absl::Span<T> part, size_t offset, const char* data, size_t size) {
  if constexpr (sizeof(T) > 1) {
    size_t index = offset / sizeof(T);
    if (const size_t held = offset % sizeof(T); held > 0) {
      const size_t taken = std::min(size, sizeof(T) - held);
      std::memcpy(carry_ + held, data, taken);
      if (held + taken < sizeof(T)) return;
      AddElements(&part[index++], carry_, 1);
      data += taken;
      size -= taken;
    }
    const size_t whole = size / sizeof(T);
    if (whole > 0) AddElements(&part[index], data, whole);
    std::memcpy(carry_, data + whole * sizeof(T), size % sizeof(T));
  }
}

}  // namespace lockstep

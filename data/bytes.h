// Read-only bytes and whatever keeps them in memory.
#ifndef LOCKSTEP_DATA_BYTES_H_
#define LOCKSTEP_DATA_BYTES_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace lockstep {

// Immutable. Thread-safe.
class Bytes {
 public:
  // `owner` keeps what `bytes` refers to.
  Bytes(absl::Span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  virtual ~Bytes() = default;

  const std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  absl::Span<const std::byte> span() const { return bytes_; }

  // DATA_LOSS if the bytes can no longer be read, because the file behind them shrank.
  virtual absl::Status CheckIntact() const { return absl::OkStatus(); }

 private:
  const absl::Span<const std::byte> bytes_;
  const std::shared_ptr<const void> owner_;
};

template <typename T>
std::shared_ptr<const Bytes> HoldVector(std::vector<T> values) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  const absl::Span<const std::byte> bytes(data, owner->size() * sizeof(T));
  return std::make_shared<const Bytes>(bytes, std::move(owner));
}

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_BYTES_H_

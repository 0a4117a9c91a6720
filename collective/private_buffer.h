// Memory of this process alone, where none can be shared or none needs to be.
#ifndef LOCKSTEP_COLLECTIVE_PRIVATE_BUFFER_H_
#define LOCKSTEP_COLLECTIVE_PRIVATE_BUFFER_H_

#include <cstddef>

#include "absl/types/span.h"
#include "base/aligned_buffer.h"
#include "collective/communicator.h"

namespace lockstep {

class PrivateBuffer : public CollectiveBuffer {
 public:
  explicit PrivateBuffer(size_t bytes) : memory_(bytes) {}
  absl::Span<std::byte> bytes() const override { return {memory_.data(), memory_.size()}; }

 private:
  const AlignedBytes memory_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_PRIVATE_BUFFER_H_

#include "base/crc32c.h"

#include <algorithm>

#include "isa-l/crc.h"

namespace lockstep {

uint32_t Crc32c(const void* data, size_t bytes, uint32_t previous) {
  // ISA-L wants a non-const pointer, an int length, and the register value before the final inversion.
  constexpr size_t kMost = size_t{1} << 30;
  auto* at = static_cast<unsigned char*>(const_cast<void*>(data));
  uint32_t crc = ~previous;
  while (bytes > 0) {
    const size_t part = std::min(bytes, kMost);
    crc = crc32_iscsi(at, static_cast<int>(part), crc);
    at += part;
    bytes -= part;
  }
  return ~crc;
}

}  // namespace lockstep

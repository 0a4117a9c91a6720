// CRC-32C (Castagnoli), as in iSCSI, TFRecord and checkpoint manifests.
#ifndef LOCKSTEP_BASE_CRC32C_H_
#define LOCKSTEP_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace lockstep {

// The checksum of `bytes` bytes, continuing from the checksum `previous` of what came before them.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t previous = 0);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_CRC32C_H_

// Hash64 of large blocks, compiled for each instruction set.
#ifndef LOCKSTEP_BASE_HASH_SIMD_H_
#define LOCKSTEP_BASE_HASH_SIMD_H_

#include <cstddef>
#include <cstdint>

namespace lockstep {

namespace avx2 {
uint64_t HashLarge(const void* data, size_t bytes);
uint64_t CopyAndHashLarge(const void* from, size_t bytes, void* to);
}  // namespace avx2

namespace avx512 {
uint64_t HashLarge(const void* data, size_t bytes);
uint64_t CopyAndHashLarge(const void* from, size_t bytes, void* to);
}  // namespace avx512

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_HASH_SIMD_H_

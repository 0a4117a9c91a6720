// How much memory the machine has: what no allocation of ours may exceed.
#ifndef LOCKSTEP_BASE_PHYSICAL_MEMORY_H_
#define LOCKSTEP_BASE_PHYSICAL_MEMORY_H_

#include <unistd.h>

#include <cstdint>

namespace lockstep {

inline int64_t PhysicalMemoryBytes() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_PHYSICAL_MEMORY_H_

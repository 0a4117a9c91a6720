// What the processor and the operating system let this process use.
#ifndef LOCKSTEP_BASE_CPU_H_
#define LOCKSTEP_BASE_CPU_H_

#include "absl/status/status.h"

namespace lockstep {

enum class InstructionSet { kAvx2, kAvx512 };

// FAILED_PRECONDITION, in one line, on a processor without AVX2 and FMA.
absl::Status CheckProcessor();

// The best one that kernels are compiled for and this processor has.
// LOCKSTEP_INSTRUCTION_SET=avx2 in the environment forces the smaller one (tests compare the two).
InstructionSet BestInstructionSet();

// Processors this process may use: the affinity mask, limited by a cgroup CPU quota (rounded up).
// At least 1.
int AllowedProcessors();

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_CPU_H_

// What every program of ours does first.
#ifndef LOCKSTEP_BASE_PROCESS_H_
#define LOCKSTEP_BASE_PROCESS_H_

#include "absl/status/status.h"

namespace lockstep {

// Starts logging and settles what holds for the whole process (memory, locks). Call before any thread is
// started. FAILED_PRECONDITION: the processor is too old (base/cpu.h).
absl::Status InitProcess(const char* program);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_PROCESS_H_

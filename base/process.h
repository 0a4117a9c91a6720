// What every program of ours does first.
#ifndef LOCKSTEP_BASE_PROCESS_H_
#define LOCKSTEP_BASE_PROCESS_H_

#include "absl/status/status.h"

namespace lockstep {

// Starts logging and settles what holds for the whole process (memory, locks, subnormal numbers are zero).
// Call before any thread is started. FAILED_PRECONDITION: the processor is too old (base/cpu.h).
absl::Status InitProcess(const char* program);

// Restarts the program, once, so that the threads of OpenMP (oneDNN's) sleep when they wait instead of
// spinning: they would take the processor from the threads that communicate, and on a machine that does other
// work too, steps become ten times slower. OpenMP reads OMP_WAIT_POLICY when the program is loaded, so
// setting it in main() is too late. Does nothing if the variable is set. First thing in main().
void RestartWithSleepingThreads(char** argv);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_PROCESS_H_

// Logging: LOG(INFO|WARNING|ERROR), VLOG(n), CHECK(condition). The only header that includes glog.
//
// INFO is for changes of state only. CHECK is for invariants that this program could prove; bytes from
// outside (network, files, flags) are answered with a Status instead.
#ifndef LOCKSTEP_BASE_LOGGING_H_
#define LOCKSTEP_BASE_LOGGING_H_

#include <glog/logging.h>

namespace lockstep {

// Logs go to standard error. Call once, first thing in main().
void InitLogging(const char* program);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_LOGGING_H_

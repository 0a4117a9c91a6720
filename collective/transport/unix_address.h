// Daemons are reached by their peers on the same host through unix-domain sockets too: twice as fast as TCP
// over loopback with the congestion control of many systems (docs/performance.md).
//
// The name follows from the daemon's HOST:PORT. It is abstract: nothing in the file system, gone with the
// process, and seen within one network namespace only, so that a daemon of another container is not found
// under it.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_UNIX_ADDRESS_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_UNIX_ADDRESS_H_

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "base/file_descriptor.h"

namespace lockstep {

// What the daemon at `address` (HOST:PORT) listens under, for gRPC:
// "unix-abstract:lockstep-0123456789abcdef".
std::string UnixTargetOf(const std::string& address);

// Makes `target`, one of UnixTargetOf, this process's own for as long as the result lives: of daemons that
// start at the same moment under one name, one gets it. Invalid if another process has it or listens under
// it.
FileDescriptor Claim(const std::string& target);

// Whether a process of `user` listens under `target`: anybody may take a name. Does not block.
bool IsServed(const std::string& target, uid_t user = geteuid());

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_UNIX_ADDRESS_H_

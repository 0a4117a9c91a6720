// All ranks of a group in one process: for tests, and for groups of one rank.
//
// A message is copied straight from the sender's buffer into the receiver's when both are known, by whichever
// call came second; so a send is done only when it has been received, which is the strictest reading of the
// contract of Transport.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_IN_PROCESS_TRANSPORT_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_IN_PROCESS_TRANSPORT_H_

#include <memory>
#include <vector>

#include "collective/transport/transport.h"

namespace lockstep {

// Element r is the transport of rank r. Each may be destroyed at any time: for the others that is the loss
// of a peer if they still wait for it. world_size >= 1.
std::vector<std::unique_ptr<Transport>> MakeInProcessGroup(int world_size);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_IN_PROCESS_TRANSPORT_H_

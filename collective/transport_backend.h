// Operations done by messages of a transport.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_BACKEND_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_BACKEND_H_

#include <memory>

#include "collective/backend.h"
#include "collective/transport/transport.h"

namespace lockstep {

// The transport outlives the backend. The options have been checked.
std::unique_ptr<Backend> MakeTransportBackend(Transport* transport, const CommunicatorOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_BACKEND_H_

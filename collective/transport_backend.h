// Operations done by messages of a transport.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_BACKEND_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_BACKEND_H_

#include <memory>

#include "collective/backend.h"
#include "collective/cost_model.h"
#include "collective/transport/transport.h"

namespace lockstep {

class TransportBackend : public Backend {
 public:
  // Measures the algorithms, for kAuto to choose from; before that, it is the ring. A collective operation
  // that takes milliseconds, or as long as a megabyte takes on a slow network.
  virtual absl::Status MeasureCosts() = 0;
  virtual const CostModel& costs() const = 0;
};

// The transport outlives the backend. The options have been checked.
std::unique_ptr<TransportBackend> MakeTransportBackend(Transport* transport,
                                                       const CommunicatorOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_BACKEND_H_

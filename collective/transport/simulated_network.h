// Ranks in threads of one process, on a network that exists in computation alone: each rank has a full-duplex
// link to a switch that never blocks, with a bandwidth and a latency. For studying algorithms on networks
// that are not at hand; deterministic, and nothing sleeps.
//
// The network's clock stands still while any rank runs, so computation takes no time. When all ranks wait, it
// jumps to the next event. A message occupies its sender's link for bytes / bandwidth, its first byte arrives
// after the latency, and it occupies its receiver's link for as long again, behind what is arriving there.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_SIMULATED_NETWORK_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_SIMULATED_NETWORK_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "collective/transport/transport.h"

namespace lockstep {

struct SimulatedLink {
  double bytes_per_second = 0;  // positive; of each direction
  absl::Duration latency;       // from one rank to another
};

// Thread-safe.
class SimulatedNetwork {
 public:
  SimulatedNetwork(int world_size, const SimulatedLink& link);
  ~SimulatedNetwork();

  // Element r is the transport of rank r; they share the network, and may outlive this object. Each one's
  // operations move on only while its rank is in Transport::Wait, in one thread at a time. All ranks must be
  // running threads, or be destroyed: time waits for them. To be called once.
  std::vector<std::unique_ptr<Transport>> MakeGroup();

  // Of the network's clock, which begins at zero.
  absl::Duration Now() const;

  // Returns when all ranks have called it, on the network's clock at once.
  void Meet(int rank);

  class Impl;

 private:
  const std::shared_ptr<Impl> impl_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_SIMULATED_NETWORK_H_

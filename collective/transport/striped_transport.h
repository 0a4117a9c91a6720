// Several transports of the same ranks as one: messages are spread over them by their tags, which both ends
// know. For links that one TCP connection does not fill.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_STRIPED_TRANSPORT_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_STRIPED_TRANSPORT_H_

#include <memory>
#include <vector>

#include "collective/transport/transport.h"

namespace lockstep {

constexpr int kMostLanes = 16;

// `lanes` is not empty; all have the same rank and world size. An error of one lane ends the others when
// somebody waits, at most 100 ms later.
std::unique_ptr<Transport> MakeStripedTransport(std::vector<std::unique_ptr<Transport>> lanes);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_STRIPED_TRANSPORT_H_

// Channels to the control services of other daemons, as daemons and the command line use them.
#ifndef LOCKSTEP_WORKER_CONTROL_CHANNEL_H_
#define LOCKSTEP_WORKER_CONTROL_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace lockstep {

// Connects when first used, again and again at intervals of at most a second. Proxies in the environment are
// ignored: peers are reached directly or not at all.
// A link that does not answer for `patience` is given up.
std::shared_ptr<grpc::Channel> MakeControlChannel(const std::string& address,
                                                  absl::Duration patience = absl::Seconds(20));

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CONTROL_CHANNEL_H_

// Who this process is, for its peers.
#ifndef LOCKSTEP_WORKER_IDENTITY_H_
#define LOCKSTEP_WORKER_IDENTITY_H_

#include <string>

#include "proto/cluster.pb.h"
#include "worker/tf_config.h"

namespace lockstep {

// Version of the product, as in CHANGELOG.md.
extern const char kVersion[];

// Of the membership protocol and of the frames between ranks. Raised with every incompatible change.
inline constexpr int kWireVersion = 1;

// Identity of this process: rank and cluster from `config`, listening on `address`. Every call draws a new
// incarnation.
v1::Identity MakeIdentity(const ClusterConfig& config, const std::string& address);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_IDENTITY_H_

// gRPC's library state, kept until the process ends.
#ifndef LOCKSTEP_WORKER_GRPC_LIFETIME_H_
#define LOCKSTEP_WORKER_GRPC_LIFETIME_H_

namespace lockstep {

// Initialises gRPC once more than it is shut down. Without it, destroying the last channel or queue shuts the
// library down, which waits up to 10 s for its backup poller: programs would take that long to end.
void KeepGrpcInitialized();

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_GRPC_LIFETIME_H_

// The service Collective with its one method in raw form: messages are byte buffers, not parsed.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_EXCHANGE_SERVICE_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_EXCHANGE_SERVICE_H_

#include "proto/collective.grpc.pb.h"

namespace lockstep {

using GrpcExchangeService = v1::Collective::WithRawMethod_Exchange<v1::Collective::Service>;

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_EXCHANGE_SERVICE_H_

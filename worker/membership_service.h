// The gRPC side of cluster formation: answers Identify, and holds the control streams of workers at the
// chief. Reactions only enqueue. Thread-safe.
#ifndef LOCKSTEP_WORKER_MEMBERSHIP_SERVICE_H_
#define LOCKSTEP_WORKER_MEMBERSHIP_SERVICE_H_

#include "proto/cluster.grpc.pb.h"
#include "worker/chief.h"

namespace lockstep {

class MembershipService : public v1::Membership::CallbackService {
 public:
  // `chief` is null on every rank but 0. Not owned.
  MembershipService(const v1::Identity& self, const std::string& chief_address, Chief* chief)
      : self_(self), chief_address_(chief_address), chief_(chief) {}

  grpc::ServerUnaryReactor* Identify(grpc::CallbackServerContext* context, const v1::IdentifyRequest* request,
                                     v1::Identity* response) override;
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::ChiefMessage>* Join(
      grpc::CallbackServerContext* context) override;

 private:
  const v1::Identity self_;
  const std::string chief_address_;
  Chief* const chief_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_MEMBERSHIP_SERVICE_H_

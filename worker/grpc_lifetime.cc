#include "worker/grpc_lifetime.h"

#include <grpc/grpc.h>

namespace lockstep {

void KeepGrpcInitialized() {
  static const bool initialized = [] {
    grpc_init();
    return true;
  }();
  (void)initialized;
}

}  // namespace lockstep

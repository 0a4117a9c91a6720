#include "collective/transport/grpc_cluster.h"
#include "collective/transport/transport_conformance.h"

namespace lockstep {
namespace {

// A cluster per world size; each group is a new job on it, so that servers and channels are used again.
template <Sockets sockets, int connections>
class GrpcGroups {
 public:
  std::vector<std::unique_ptr<Transport>> Make(int world_size) {
    cluster_ = nullptr;
    cluster_ = std::make_unique<GrpcCluster>(world_size, GrpcTransportOptions(), sockets);
    return cluster_->Connect(/*job=*/17, /*generation=*/0, connections);
  }

 private:
  std::unique_ptr<GrpcCluster> cluster_;
};

using OverTcp = GrpcGroups<Sockets::kTcp, 1>;
using OverUnix = GrpcGroups<Sockets::kUnix, 1>;
using OverThree = GrpcGroups<Sockets::kTcp, 3>;

INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportConformanceTest, OverTcp);
INSTANTIATE_TYPED_TEST_SUITE_P(Unix, TransportConformanceTest, OverUnix);
INSTANTIATE_TYPED_TEST_SUITE_P(ThreeConnections, TransportConformanceTest, OverThree);

}  // namespace
}  // namespace lockstep

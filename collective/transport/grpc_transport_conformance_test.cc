#include "collective/transport/grpc_cluster.h"
#include "collective/transport/transport_conformance.h"

namespace lockstep {
namespace {

// A cluster per world size; each group is a new job on it, so that servers and channels are used again.
template <Sockets sockets>
class GrpcGroups {
 public:
  std::vector<std::unique_ptr<Transport>> Make(int world_size) {
    cluster_ = nullptr;
    cluster_ = std::make_unique<GrpcCluster>(world_size, GrpcTransportOptions(), sockets);
    return cluster_->Connect(/*job=*/17, /*generation=*/0);
  }

 private:
  std::unique_ptr<GrpcCluster> cluster_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportConformanceTest, GrpcGroups<Sockets::kTcp>);
INSTANTIATE_TYPED_TEST_SUITE_P(Unix, TransportConformanceTest, GrpcGroups<Sockets::kUnix>);

}  // namespace
}  // namespace lockstep

#include "collective/transport/in_process_transport.h"

#include "collective/transport/transport_conformance.h"

namespace lockstep {
namespace {

struct InProcessGroups {
  std::vector<std::unique_ptr<Transport>> Make(int world_size) { return MakeInProcessGroup(world_size); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(InProcess, TransportConformanceTest, InProcessGroups);

}  // namespace
}  // namespace lockstep

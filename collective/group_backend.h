// How a group does its operations: in shared memory, by messages, or by hosts. Decided when the communicator
// is made, together with all ranks.
#ifndef LOCKSTEP_COLLECTIVE_GROUP_BACKEND_H_
#define LOCKSTEP_COLLECTIVE_GROUP_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collective/backend.h"
#include "collective/communicator.h"
#include "collective/transport/transport.h"

namespace lockstep {

struct GroupBackend {
  // Transports of subsets of the group that the backend uses.
  std::vector<std::unique_ptr<Transport>> subsets;
  std::unique_ptr<Backend> backend;
  // As Communicator tells them.
  std::string medium;
  std::string algorithms;
  std::string paths;
};

// A collective operation. The transport outlives the result; the options have been checked.
// Errors: those of an all-gather by messages.
absl::StatusOr<GroupBackend> MakeGroupBackend(Transport* transport, const CommunicatorOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_GROUP_BACKEND_H_

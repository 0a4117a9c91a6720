// Which generation of each job is the newest one known here. Older ones, and one that has ended, are over:
// their late messages must be told so instead of waiting for a group that never comes. Thread-compatible.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GENERATION_REGISTRY_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GENERATION_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "absl/status/status.h"
#include "collective/transport/frame_codec.h"

namespace lockstep {

class GenerationRegistry {
 public:
  // Jobs that are remembered; the one first seen is forgotten first.
  static constexpr size_t kMaxJobs = 4096;

  // Notes that `group` begins here.
  // Errors: FAILED_PRECONDITION if its generation is not newer than all before.
  absl::Status Begin(const GroupId& group);
  void End(const GroupId& group);

  // FAILED_PRECONDITION if a peer calls for a generation that is over.
  absl::Status CheckCaller(const GroupId& group) const;

 private:
  struct Newest {
    int64_t generation;
    bool ended;
  };
  std::map<uint64_t, Newest> newest_;
  std::deque<uint64_t> jobs_;  // in the order in which they were first seen
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GENERATION_REGISTRY_H_

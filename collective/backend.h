// How the operations of one group are done: by messages of a transport (transport_backend.h) or in memory
// that the ranks share (shared_memory/). The communicator puts the operations in order, counts them, and
// keeps the first error.
//
// One operation at a time, all blocking; the same ones in the same order on all ranks. After an error the
// group is of no use: Abort follows. Thread-compatible, except Abort.
#ifndef LOCKSTEP_COLLECTIVE_BACKEND_H_
#define LOCKSTEP_COLLECTIVE_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "collective/communicator.h"

namespace lockstep {

class Backend {
 public:
  virtual ~Backend() = default;

  // As in Communicator.
  virtual absl::Status AllReduce(const ReduceBuffers& buffers, Waiting waiting) = 0;
  virtual absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Waiting waiting) = 0;
  virtual absl::Status AllGather(absl::string_view mine, std::vector<std::string>* all, Waiting waiting) = 0;
  virtual absl::Status Barrier(Waiting waiting) = 0;
  virtual absl::StatusOr<std::unique_ptr<CollectiveBuffer>> Allocate(size_t bytes, Waiting waiting) = 0;

  // Ends the operation under way and every later one with `status`, here and, as soon as they notice, on the
  // other ranks. Any thread.
  virtual void Abort(const absl::Status& status) = 0;

  // Handed to a network so far.
  virtual int64_t bytes_sent() const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_BACKEND_H_

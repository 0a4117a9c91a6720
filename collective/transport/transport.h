// Tagged messages between the ranks of one group. The collectives above are written against this interface
// alone; grpc_transport.h, in_process_transport.h implement it, fault_transport.h decorates it, and
// transport_conformance.h is the test that each implementation passes.
//
// A group is one generation of one job: a transport carries that group's messages and no other's.
//
// Contract
//   - Per (peer, tag): exactly once or an error. Messages are matched by tag, never by order of arrival: one
//     that arrives before its Receive is posted waits, within a bound, at the receiver.
//   - At most one outstanding operation per (peer, tag, direction). Tags are not used again in a group.
//   - Buffers belong to the operation until its Completion is done. A completed send may be overwritten.
//   - A message whose length differs from what Receive expects is an error of the group: it names both.
//   - Abort is sticky: every outstanding and later operation ends with that status. The first one wins.
// Thread-safe.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/mutex.h"

namespace lockstep {

// What one message carries: doubles in front of floats, or plain bytes. Each part may be empty.
struct SendParts {
  absl::Span<const double> doubles;
  absl::Span<const float> floats;
  absl::Span<const std::byte> bytes;

  size_t size_bytes() const { return doubles.size() * 8 + floats.size() * 4 + bytes.size(); }
};

struct ReceiveParts {
  absl::Span<double> doubles;
  absl::Span<float> floats;
  absl::Span<std::byte> bytes;

  size_t size_bytes() const { return doubles.size() * 8 + floats.size() * 4 + bytes.size(); }
};

enum class ReceiveMode {
  kOverwrite,
  kAdd,  // buffer[i] = buffer[i] + received[i]; not for bytes
};

// How a thread waits for its peers.
enum class Waiting {
  kPolling,  // nothing else wants the processor: polls a little, then sleeps
  kAsleep,   // beside a thread that computes
};

// The end of one operation. Lives with the caller until it is done. Thread-safe.
class Completion {
 public:
  // Called once by the transport.
  void Finish(absl::Status status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
    done_ = true;
  }
  // Whether it was done before `deadline`; `status()` tells how.
  bool Wait(absl::Time deadline) {
    MutexLock lock(&mutex_);
    return mutex_.AwaitWithDeadline(Condition(&done_), deadline);
  }
  bool done() {
    MutexLock lock(&mutex_);
    return done_;
  }
  absl::Status status() {
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// How two ranks exchange.
enum class Path : char {
  kSelf = '-',  // one rank with itself
  kSharedMemory = 's',
  kUnixSocket = 'u',
  kTcp = 't',
  kProcess = 'p',  // memory of one process
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // What errors call a rank of the group: its rank in the group that this one is a part of.
  virtual int OriginalRank(int rank) const { return rank; }
  // How messages to another rank travel.
  virtual Path PathTo(int /*peer*/) const { return Path::kProcess; }

  // Queues the message and returns. `completion` is done when the buffers may be changed.
  virtual void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) = 0;

  // Stores or adds the message that `peer` sends under `tag`. `completion` is done when it is there.
  virtual void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
                       Completion* completion) = 0;

  // Whether `completion` was done before `deadline`. The calling thread may do the transport's work
  // meanwhile.
  virtual bool Wait(Completion* completion, absl::Time deadline, Waiting /*waiting*/) {
    return completion->Wait(deadline);
  }

  // The clock by which operations take time.
  virtual absl::Time Now() const { return absl::Now(); }

  // Ends all operations with `status`, which must not be OK. When it returns, no operation refers to any
  // buffer of a caller any more.
  virtual void Abort(const absl::Status& status) = 0;

  // OK, or the first error: an Abort, or the loss of a peer ("rank 2 (127.0.0.1:5303) lost: ...").
  virtual absl::Status status() const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_TRANSPORT_H_

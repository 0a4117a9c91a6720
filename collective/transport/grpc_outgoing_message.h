// One Send on its way into gRPC: cuts the message into frames whose slices point at the caller's memory, and
// knows when gRPC has let go of it.
//
// A write that has completed may still be referred to by the transport below, so the Completion is done only
// when the last slice has been released. Slices are released on any thread, under locks of gRPC; what happens
// then takes no lock but the Completion's and the ledger's.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_OUTGOING_MESSAGE_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_OUTGOING_MESSAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "collective/transport/frame_codec.h"
#include "collective/transport/transport.h"

namespace grpc {
class ByteBuffer;
}

namespace lockstep {

// Counts the messages of a group that are not done. Thread-safe.
class SendLedger {
 public:
  void Add() {
    MutexLock lock(&mutex_);
    ++count_;
  }
  void Remove() {
    MutexLock lock(&mutex_);
    --count_;
  }
  void AwaitNone() {
    MutexLock lock(&mutex_);
    mutex_.Await(Condition(this, &SendLedger::None));
  }

 private:
  bool None() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ == 0; }

  Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Owns itself: lives until Release has been called and all slices are gone. Thread-compatible but for that.
class GrpcOutgoingMessage {
 public:
  // `ledger` and what `parts` and `completion` point to outlive the message.
  GrpcOutgoingMessage(const GroupId& group, uint64_t tag, const SendParts& parts, size_t frame_bytes,
                      Completion* completion, SendLedger* ledger);
  GrpcOutgoingMessage(const GrpcOutgoingMessage&) = delete;
  GrpcOutgoingMessage& operator=(const GrpcOutgoingMessage&) = delete;

  uint64_t tag() const { return tag_; }
  // Whether NextFrame has not been called yet.
  bool untouched() const { return next_offset_ == 0 && !complete_; }
  // Whether NextFrame has returned the last frame.
  bool complete() const { return complete_; }

  // The next frame; not after complete().
  void NextFrame(grpc::ByteBuffer* frame);

  // Gives the message up; `status` is how it ended as far as the caller knows.
  void Release(const absl::Status& status);

 private:
  ~GrpcOutgoingMessage() = default;

  static void OnSliceReleased(void* message);
  void Unref();

  const GroupId group_;
  const uint64_t tag_;
  const SendParts parts_;
  const size_t frame_bytes_;
  Completion* const completion_;
  SendLedger* const ledger_;
  size_t next_offset_ = 0;
  bool complete_ = false;
  absl::Status status_;
  std::atomic<int> references_{1};  // one for the owner, one per slice
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_OUTGOING_MESSAGE_H_

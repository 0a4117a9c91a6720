// The messages from one peer: matches frames that have come with Receives that are posted, whichever is
// first. Pure bookkeeping, without I/O; what it holds of frames are references, not copies.
//
// Consuming a payload (the summing loop) takes long, so it must not happen under the lock that guards the
// inbox. Post and OnFrame therefore only queue payloads at the Receive they belong to; the caller then runs
//
//   while (auto* receive = inbox.BeginConsume(tag)) { unlock; receive->ConsumeTaken(); lock;
//   inbox.EndConsume(tag); }
//
// Of several threads that come along, one consumes and the others find it busy, so the bytes of a message go
// in order. Thread-compatible.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_INBOX_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_INBOX_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collective/transport/frame_codec.h"
#include "collective/transport/parts_sink.h"
#include "collective/transport/transport.h"

namespace lockstep {

// The payload of a frame, in runs cut anywhere; `owner` keeps their memory.
struct FramePayload {
  std::vector<absl::string_view> runs;
  size_t size_bytes = 0;
  std::shared_ptr<const void> owner;
};

class Inbox {
 public:
  class PostedReceive {
   public:
    PostedReceive(ReceiveMode mode, const ReceiveParts& parts, Completion* completion)
        : sink_(mode, parts), completion_(completion) {}

    // Without the inbox's lock.
    void ConsumeTaken();

   private:
    friend class Inbox;
    PartsSink sink_;
    Completion* const completion_;
    size_t arrived_bytes_ = 0;           // including what is not consumed yet
    bool arrived_ = false;               // the whole message is here
    bool busy_ = false;                  // a thread is in ConsumeTaken
    std::vector<FramePayload> waiting_;  // arrived since the last BeginConsume
    std::vector<FramePayload> taken_;    // of the thread in ConsumeTaken
  };

  // `peer` and `address` are for errors. While frames without a Receive exceed one of the limits, full().
  Inbox(int peer, std::string address, size_t max_unexpected_frames, size_t max_unexpected_bytes)
      : peer_(peer),
        address_(std::move(address)),
        max_unexpected_frames_(max_unexpected_frames),
        max_unexpected_bytes_(max_unexpected_bytes) {}

  // Errors: ALREADY_EXISTS if the tag is posted, INVALID_ARGUMENT if the message has another length.
  absl::Status Post(uint64_t tag, ReceiveMode mode, const ReceiveParts& parts, Completion* completion);
  // The same two errors, and DATA_LOSS if the frame does not continue the message before it.
  absl::Status OnFrame(const DataHeader& header, FramePayload payload);

  // The Receive that the caller is to feed now, or null: nothing has come for it, or another thread is at it.
  PostedReceive* BeginConsume(uint64_t tag);
  // Finishes the Receive if it has everything, or if the inbox has failed meanwhile.
  void EndConsume(uint64_t tag);

  // Ends all Receives with `status`, now or in EndConsume.
  void Fail(const absl::Status& status);

  bool full() const {
    return unexpected_frames_ > max_unexpected_frames_ || unexpected_bytes_ > max_unexpected_bytes_;
  }
  // Whether a Receive waits for more to come.
  bool AwaitsFrames() const;
  // Whether any Receive is not finished.
  bool HasReceives() const { return !posted_.empty(); }

 private:
  struct Unexpected {
    size_t message_bytes = 0;
    size_t arrived_bytes = 0;
    std::vector<FramePayload> payloads;
  };

  const int peer_;
  const std::string address_;
  const size_t max_unexpected_frames_;
  const size_t max_unexpected_bytes_;
  absl::Status status_;
  std::map<uint64_t, std::unique_ptr<PostedReceive>> posted_;
  std::map<uint64_t, Unexpected> unexpected_;
  size_t unexpected_frames_ = 0;
  size_t unexpected_bytes_ = 0;
  // The message whose frames are arriving.
  uint64_t current_tag_ = 0;
  size_t current_bytes_ = 0;
  size_t current_arrived_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_INBOX_H_

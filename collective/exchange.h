// The messages of one collective operation: gives them their tags, waits for them with an end, and says what
// was waited for when they do not come.
//
// A tag is made of the operation's sequence number in the group, the step and the segment; ranks that run the
// same operations in the same order therefore agree on it, and no tag is used twice.
//
// Any error ends the group: when Wait returns one, the transport has been aborted and refers to no buffer and
// no Completion of the operation any more.
// Thread-compatible; lives as long as the operation.
#ifndef LOCKSTEP_COLLECTIVE_EXCHANGE_H_
#define LOCKSTEP_COLLECTIVE_EXCHANGE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/aligned_buffer.h"
#include "collective/communicator.h"
#include "collective/transport/transport.h"

namespace lockstep {

// Which message of an operation.
struct MessagePosition {
  int peer = 0;
  int step = 0;
  int64_t segment = 0;
};

class Exchange {
 public:
  // Limits of the tag's fields: 2^34 operations, 2^8 steps, 2^20 segments.
  static constexpr int kStepBits = 8;
  static constexpr int kSegmentBits = 20;
  // Steps of the mesh, of one hop and of a tree, apart from those of the ring: ranks that do not agree on the
  // algorithm, because their buffers differ in size, never take each other's messages.
  static constexpr int kOneHopStep = (1 << kStepBits) - 1;
  static constexpr int kCollectStep = kOneHopStep - 1;
  static constexpr int kSpreadStep = kOneHopStep - 2;
  static constexpr int kTreeStep = kOneHopStep - 3;
  // Those of the ring lie below.
  static constexpr int kMostRingSteps = kTreeStep;

  // What a group's operations have in common. Outlives the exchange; of one operation at a time.
  struct Group {
    Transport* transport;
    CommunicatorOptions options;
    AlignedBytes scratch;
  };

  // `operation` names the kind ("all-reduce"); it outlives the exchange.
  Exchange(Group* group, absl::string_view operation, int64_t sequence, size_t size_bytes, Waiting waiting);

  int rank() const { return group_->transport->rank(); }
  int world_size() const { return group_->transport->world_size(); }
  const CommunicatorOptions& options() const { return group_->options; }

  void Send(const MessagePosition& position, const SendParts& parts, Completion* completion);
  void Receive(const MessagePosition& position, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion);

  // At least `bytes`, aligned, of memory that is kept between operations; of the operation until it ends.
  absl::Span<std::byte> Scratch(size_t bytes);

  // INVALID_ARGUMENT if a chunk in so many segments has no tags.
  absl::Status CheckNumSegments(int64_t num_segments) const;

  // Wait for the end of a Send or Receive.
  // Errors: what the transport reports, with operation and position added; DEADLINE_EXCEEDED after
  // options.timeout without progress of the operation. Its LostRank is the rank that was waited for; in a
  // ring that one may itself be waiting for the rank before it.
  absl::Status WaitSent(const MessagePosition& position, Completion* completion);
  absl::Status WaitReceived(const MessagePosition& position, size_t size_bytes, Completion* completion);

  // Handed to the transport so far.
  int64_t bytes_sent() const { return bytes_sent_; }

 private:
  int OriginalRank(int rank) const { return group_->transport->OriginalRank(rank); }
  uint64_t Tag(const MessagePosition& position) const;
  absl::Status Wait(absl::string_view what, const MessagePosition& position, Completion* completion);
  absl::Status OnTimeout(absl::string_view what, const MessagePosition& position);
  std::string Describe(absl::string_view what, const MessagePosition& position) const;

  Group* const group_;
  const absl::string_view operation_;
  const int64_t sequence_;
  const size_t size_bytes_;
  const Waiting waiting_;
  absl::Time last_progress_;
  int64_t bytes_sent_ = 0;
  int64_t bytes_received_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_EXCHANGE_H_

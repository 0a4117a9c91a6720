#include "collective/exchange.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/logging.h"
#include "collective/peer_lost.h"

namespace lockstep {

Exchange::Exchange(Group* group, absl::string_view operation, int64_t sequence, size_t size_bytes,
                   Waiting waiting)
    : group_(group),
      operation_(operation),
      sequence_(sequence),
      size_bytes_(size_bytes),
      waiting_(waiting),
      last_progress_(absl::Now()) {}

absl::Span<std::byte> Exchange::Scratch(size_t bytes) {
  if (group_->scratch.size() < bytes) group_->scratch = AlignedBytes(bytes);
  return {group_->scratch.data(), group_->scratch.size()};
}

absl::Status Exchange::CheckNumSegments(int64_t num_segments) const {
  if (num_segments <= (int64_t{1} << kSegmentBits)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(operation_, " of ", num_segments, " segments per chunk: raise segment_bytes"));
}

uint64_t Exchange::Tag(const MessagePosition& position) const {
  return static_cast<uint64_t>(sequence_) << (kStepBits + kSegmentBits) |
         static_cast<uint64_t>(position.step) << kSegmentBits | static_cast<uint64_t>(position.segment);
}

void Exchange::Send(const MessagePosition& position, const SendParts& parts, Completion* completion) {
  bytes_sent_ += parts.size_bytes();
  group_->transport->Send(position.peer, Tag(position), parts, completion);
}

void Exchange::Receive(const MessagePosition& position, ReceiveMode mode, const ReceiveParts& parts,
                       Completion* completion) {
  group_->transport->Receive(position.peer, Tag(position), mode, parts, completion);
}

absl::Status Exchange::WaitSent(const MessagePosition& position, Completion* completion) {
  return Wait("sending to", position, completion);
}

absl::Status Exchange::WaitReceived(const MessagePosition& position, size_t size_bytes,
                                    Completion* completion) {
  absl::Status status = Wait("waiting for", position, completion);
  if (status.ok()) bytes_received_ += size_bytes;
  return status;
}

absl::Status Exchange::Wait(absl::string_view what, const MessagePosition& position, Completion* completion) {
  const absl::Time end = last_progress_ + group_->options.timeout;
  absl::Time warning = last_progress_ + group_->options.stall_warning;
  while (!group_->transport->Wait(completion, std::min(end, warning), waiting_)) {
    if (absl::Now() >= end) return OnTimeout(what, position);
    LOG(WARNING) << "rank " << OriginalRank(rank()) << ": no progress for "
                 << absl::FormatDuration(absl::Now() - last_progress_) << " in " << Describe(what, position);
    warning += group_->options.stall_warning;
  }
  const absl::Status status = completion->status();
  if (!status.ok()) {
    group_->transport->Abort(status);
    return WithContext(status, Describe(what, position));
  }
  last_progress_ = absl::Now();
  return absl::OkStatus();
}

absl::Status Exchange::OnTimeout(absl::string_view what, const MessagePosition& position) {
  const absl::Status status = MakeStalledStatus(OriginalRank(rank()), OriginalRank(position.peer),
                                                group_->options.timeout, Describe(what, position));
  group_->transport->Abort(status);
  // Somebody else may have been first: theirs is the root cause.
  const absl::Status first = group_->transport->status();
  return first.ok() ? status : first;
}

std::string Exchange::Describe(absl::string_view what, const MessagePosition& position) const {
  return absl::StrCat(operation_, " ", sequence_, " of ", size_bytes_, " bytes, ", what, " rank ",
                      OriginalRank(position.peer), " at step ", position.step, " segment ", position.segment,
                      ", ", bytes_received_, " bytes received and ", bytes_sent_, " sent so far");
}

}  // namespace lockstep

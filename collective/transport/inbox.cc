#include "collective/transport/inbox.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collective/transport/transport_errors.h"

namespace lockstep {

void Inbox::PostedReceive::ConsumeTaken() {
  for (const FramePayload& payload : taken_) {
    for (absl::string_view run : payload.runs) sink_.Consume(run.data(), run.size());
  }
  taken_.clear();
}

absl::Status Inbox::Post(uint64_t tag, ReceiveMode mode, const ReceiveParts& parts, Completion* completion) {
  if (posted_.count(tag) > 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("tag ", absl::Hex(tag), " is under way already from rank ", peer_));
  }
  auto receive = std::make_unique<PostedReceive>(mode, parts, completion);
  if (const auto early = unexpected_.find(tag); early != unexpected_.end()) {
    Unexpected& message = early->second;
    if (message.message_bytes != parts.size_bytes()) {
      return LengthMismatchStatus(peer_, address_, tag, message.message_bytes, parts.size_bytes());
    }
    unexpected_frames_ -= message.payloads.size();
    unexpected_bytes_ -= message.arrived_bytes;
    receive->arrived_bytes_ = message.arrived_bytes;
    receive->arrived_ = message.arrived_bytes == message.message_bytes;
    receive->waiting_ = std::move(message.payloads);
    unexpected_.erase(early);
  }
  posted_.emplace(tag, std::move(receive));
  return absl::OkStatus();
}

absl::Status Inbox::OnFrame(const DataHeader& header, FramePayload payload) {
  const bool starts = current_arrived_ == current_bytes_;
  if (starts) {
    if (unexpected_.count(header.tag) > 0) {
      return absl::AlreadyExistsError(
          absl::StrCat("rank ", peer_, " (", address_, ") sent tag ", absl::Hex(header.tag), " twice"));
    }
    current_tag_ = header.tag;
    current_bytes_ = header.message_bytes;
    current_arrived_ = 0;
  }
  const bool continues = header.tag == current_tag_ && header.message_bytes == current_bytes_ &&
                         header.offset == current_arrived_;
  if (!continues || payload.size_bytes > current_bytes_ - current_arrived_ ||
      (payload.size_bytes == 0 && current_bytes_ > 0)) {
    return absl::DataLossError(absl::StrCat(
        "rank ", peer_, " (", address_, ") sent ", payload.size_bytes, " bytes for offset ", header.offset,
        " of ", header.message_bytes, " of tag ", absl::Hex(header.tag), " where offset ", current_arrived_,
        " of ", current_bytes_, " of tag ", absl::Hex(current_tag_), " is due"));
  }
  current_arrived_ += payload.size_bytes;
  const bool arrived = current_arrived_ == current_bytes_;
  if (const auto posted = posted_.find(header.tag); posted != posted_.end()) {
    PostedReceive& receive = *posted->second;
    if (receive.sink_.size_bytes() != header.message_bytes) {
      return LengthMismatchStatus(peer_, address_, header.tag, header.message_bytes,
                                  receive.sink_.size_bytes());
    }
    if (receive.arrived_) {
      return absl::AlreadyExistsError(
          absl::StrCat("rank ", peer_, " (", address_, ") sent tag ", absl::Hex(header.tag), " twice"));
    }
    receive.arrived_bytes_ = current_arrived_;
    receive.arrived_ = arrived;
    receive.waiting_.push_back(std::move(payload));
    return absl::OkStatus();
  }
  ++unexpected_frames_;
  unexpected_bytes_ += payload.size_bytes;
  Unexpected& message = unexpected_[header.tag];
  message.message_bytes = current_bytes_;
  message.arrived_bytes = current_arrived_;
  message.payloads.push_back(std::move(payload));
  return absl::OkStatus();
}

Inbox::PostedReceive* Inbox::BeginConsume(uint64_t tag) {
  const auto posted = posted_.find(tag);
  if (posted == posted_.end()) return nullptr;
  PostedReceive* receive = posted->second.get();
  if (receive->busy_ || receive->waiting_.empty() || !status_.ok()) return nullptr;
  receive->busy_ = true;
  receive->taken_.swap(receive->waiting_);
  return receive;
}

void Inbox::EndConsume(uint64_t tag) {
  const auto posted = posted_.find(tag);
  PostedReceive* receive = posted->second.get();
  receive->busy_ = false;
  if (!status_.ok()) {
    receive->completion_->Finish(status_);
  } else if (receive->arrived_ && receive->waiting_.empty()) {
    receive->completion_->Finish(absl::OkStatus());
  } else {
    return;
  }
  posted_.erase(posted);
}

void Inbox::Fail(const absl::Status& status) {
  status_ = status;
  for (auto posted = posted_.begin(); posted != posted_.end();) {
    if (posted->second->busy_) {
      ++posted;
      continue;
    }
    posted->second->completion_->Finish(status);
    posted = posted_.erase(posted);
  }
  unexpected_.clear();
  unexpected_frames_ = 0;
  unexpected_bytes_ = 0;
}

bool Inbox::AwaitsFrames() const {
  return std::any_of(posted_.begin(), posted_.end(),
                     [](const auto& posted) { return !posted.second->arrived_; });
}

}  // namespace lockstep

#include "collective/transport/fault_transport.h"

#include <cstring>
#include <utility>

#include "collective/peer_lost.h"

namespace lockstep {
namespace {

std::vector<std::byte> Serialize(const SendParts& parts) {
  std::vector<std::byte> bytes(parts.size_bytes());
  std::byte* out = bytes.data();
  const auto append = [&out](const void* data, size_t size) {
    if (size > 0) std::memcpy(out, data, size);
    out += size;
  };
  append(parts.doubles.data(), parts.doubles.size() * sizeof(double));
  append(parts.floats.data(), parts.floats.size() * sizeof(float));
  append(parts.bytes.data(), parts.bytes.size());
  return bytes;
}

// One element less of the last part that has any.
template <typename Parts>
Parts Shorter(Parts parts) {
  if (!parts.bytes.empty()) {
    parts.bytes.remove_suffix(1);
  } else if (!parts.floats.empty()) {
    parts.floats.remove_suffix(1);
  } else if (!parts.doubles.empty()) {
    parts.doubles.remove_suffix(1);
  }
  return parts;
}

absl::Status Disconnected(int peer) { return MakePeerLostStatus(peer, "by plan", "connection broke"); }

}  // namespace

FaultTransport::FaultTransport(std::unique_ptr<Transport> transport, FaultPlan plan)
    : seen_(plan.size()), plan_(std::move(plan)), transport_(std::move(transport)) {}

FaultTransport::~FaultTransport() { EndHanging(); }

void FaultTransport::Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) {
  const std::optional<FaultKind> fault = NextFault(peer, FaultDirection::kSend);
  if (!fault.has_value()) return transport_->Send(peer, tag, parts, completion);
  switch (*fault) {
    case FaultKind::kDrop:
      return completion->Finish(absl::OkStatus());
    case FaultKind::kDuplicate: {
      Completion* unobserved;
      {
        MutexLock lock(&mutex_);
        unobserved = &unobserved_.emplace_back();
      }
      transport_->Send(peer, tag, parts, completion);
      return transport_->Send(peer, tag, parts, unobserved);
    }
    case FaultKind::kTruncate:
      return transport_->Send(peer, tag, Shorter(parts), completion);
    case FaultKind::kFlipBit: {
      SendParts changed;
      {
        MutexLock lock(&mutex_);
        std::vector<std::byte>& payload = payloads_.emplace_back(Serialize(parts));
        if (!payload.empty()) payload[payload.size() / 2] ^= std::byte{0x10};
        changed.bytes = payload;
      }
      return transport_->Send(peer, tag, changed, completion);
    }
    case FaultKind::kDisconnect:
      transport_->Abort(Disconnected(peer));
      return transport_->Send(peer, tag, parts, completion);
    case FaultKind::kHang:
      return Hang(completion);
  }
}

void FaultTransport::Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
                             Completion* completion) {
  const std::optional<FaultKind> fault = NextFault(peer, FaultDirection::kReceive);
  if (!fault.has_value()) return transport_->Receive(peer, tag, mode, parts, completion);
  switch (*fault) {
    case FaultKind::kDrop:
      return completion->Finish(absl::OkStatus());
    case FaultKind::kDuplicate: {
      Completion* unobserved;
      {
        MutexLock lock(&mutex_);
        unobserved = &unobserved_.emplace_back();
      }
      transport_->Receive(peer, tag, mode, parts, completion);
      return transport_->Receive(peer, tag, mode, parts, unobserved);
    }
    case FaultKind::kTruncate:
      return transport_->Receive(peer, tag, mode, Shorter(parts), completion);
    case FaultKind::kFlipBit:
      return transport_->Receive(peer, tag, mode, parts, completion);
    case FaultKind::kDisconnect:
      transport_->Abort(Disconnected(peer));
      return transport_->Receive(peer, tag, mode, parts, completion);
    case FaultKind::kHang:
      return Hang(completion);
  }
}

void FaultTransport::Abort(const absl::Status& status) {
  transport_->Abort(status);
  EndHanging();
}

int64_t FaultTransport::faults_injected() const {
  MutexLock lock(&mutex_);
  return faults_injected_;
}

std::optional<FaultKind> FaultTransport::NextFault(int peer, FaultDirection direction) {
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < plan_.size(); ++i) {
    const Fault& fault = plan_[i];
    if (fault.rank != rank() || fault.direction != direction) continue;
    if (fault.peer != Fault::kAnyPeer && fault.peer != peer) continue;
    if (seen_[i]++ != fault.nth) continue;
    ++faults_injected_;
    return fault.kind;
  }
  return std::nullopt;
}

void FaultTransport::Hang(Completion* completion) {
  {
    MutexLock lock(&mutex_);
    hanging_.push_back(completion);
  }
  // The group may have ended before.
  if (!transport_->status().ok()) EndHanging();
}

void FaultTransport::EndHanging() {
  std::vector<Completion*> hanging;
  {
    MutexLock lock(&mutex_);
    hanging.swap(hanging_);
  }
  absl::Status status = transport_->status();
  if (status.ok()) status = absl::CancelledError("the transport was destroyed");
  for (Completion* completion : hanging) completion->Finish(status);
}

}  // namespace lockstep

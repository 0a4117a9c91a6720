#include "collective/transport/grpc_outgoing_message.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <string>

namespace lockstep {
namespace {

constexpr int kMaxSlices = 4;  // the header and three parts

}  // namespace

GrpcOutgoingMessage::GrpcOutgoingMessage(const GroupId& group, uint64_t tag, const SendParts& parts,
                                         size_t frame_bytes, Completion* completion, SendLedger* ledger)
    : group_(group),
      tag_(tag),
      parts_(parts),
      frame_bytes_(frame_bytes),
      completion_(completion),
      ledger_(ledger) {
  ledger_->Add();
}

void GrpcOutgoingMessage::NextFrame(grpc::ByteBuffer* frame) {
  const size_t total = parts_.size_bytes();
  const size_t begin = next_offset_;
  const size_t end = begin + std::min(frame_bytes_, total - begin);
  const std::string header = EncodeDataHeader(group_, {tag_, total, begin}, end - begin);
  grpc::Slice slices[kMaxSlices];
  int count = 0;
  slices[count++] = grpc::Slice(header);
  size_t part_begin = 0;
  const auto append = [&](const void* data, size_t part_bytes) {
    const size_t from = std::clamp(begin, part_begin, part_begin + part_bytes);
    const size_t to = std::clamp(end, part_begin, part_begin + part_bytes);
    if (from < to) {
      references_.fetch_add(1, std::memory_order_relaxed);
      // gRPC reads only; its interface is not const.
      char* memory = const_cast<char*>(static_cast<const char*>(data)) + (from - part_begin);
      slices[count++] = grpc::Slice(memory, to - from, &GrpcOutgoingMessage::OnSliceReleased, this);
    }
    part_begin += part_bytes;
  };
  append(parts_.doubles.data(), parts_.doubles.size() * sizeof(double));
  append(parts_.floats.data(), parts_.floats.size() * sizeof(float));
  append(parts_.bytes.data(), parts_.bytes.size());
  next_offset_ = end;
  complete_ = end == total;
  HandOver(this);
  *frame = grpc::ByteBuffer(slices, static_cast<size_t>(count));
}

void GrpcOutgoingMessage::Release(const absl::Status& status) {
  status_ = status;
  Unref();
}

void GrpcOutgoingMessage::OnSliceReleased(void* message) {
  TakeOver(message);
  static_cast<GrpcOutgoingMessage*>(message)->Unref();
}

void GrpcOutgoingMessage::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  completion_->Finish(status_);
  ledger_->Remove();
  delete this;
}

}  // namespace lockstep

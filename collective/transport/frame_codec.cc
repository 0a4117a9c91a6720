#include "collective/transport/frame_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collective/peer_lost.h"
#include "proto/collective.pb.h"

namespace lockstep {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kProtocolVersion = 1;
// Of a hello or farewell: enough for any error message, and no reason to allocate more for a bad length.
constexpr uint32_t kMaxControlBytes = 64 << 10;

constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kLengthDelimited = 2;
constexpr uint32_t WireTag(int field, uint32_t wire_type) {
  return static_cast<uint32_t>(field) << 3 | wire_type;
}

constexpr uint32_t kJob = WireTag(v1::Frame::kJobFieldNumber, kFixed64);
constexpr uint32_t kGeneration = WireTag(v1::Frame::kGenerationFieldNumber, kFixed64);
constexpr uint32_t kHello = WireTag(v1::Frame::kHelloFieldNumber, kLengthDelimited);
constexpr uint32_t kFarewell = WireTag(v1::Frame::kFarewellFieldNumber, kLengthDelimited);
constexpr uint32_t kTag = WireTag(v1::Frame::kTagFieldNumber, kFixed64);
constexpr uint32_t kMessageBytes = WireTag(v1::Frame::kMessageBytesFieldNumber, kFixed64);
constexpr uint32_t kOffset = WireTag(v1::Frame::kOffsetFieldNumber, kFixed64);
constexpr uint32_t kPayload = WireTag(v1::Frame::kPayloadFieldNumber, kLengthDelimited);

// Lets protobuf read over the edges of the runs.
class RunInputStream : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit RunInputStream(absl::Span<const absl::string_view> runs) : runs_(runs) {}

  bool Next(const void** data, int* size) override {
    while (index_ < runs_.size() && offset_ == runs_[index_].size()) {
      ++index_;
      offset_ = 0;
    }
    if (index_ == runs_.size()) return false;
    const size_t count = std::min<size_t>(runs_[index_].size() - offset_, std::numeric_limits<int>::max());
    *data = runs_[index_].data() + offset_;
    *size = static_cast<int>(count);
    offset_ += count;
    position_ += count;
    return true;
  }
  void BackUp(int count) override {
    offset_ -= count;
    position_ -= count;
  }
  bool Skip(int count) override {
    const void* data;
    int size = 0;
    while (count > 0 && Next(&data, &size)) {
      const int unused = std::max(0, size - count);
      if (unused > 0) BackUp(unused);
      count -= size - unused;
    }
    return count == 0;
  }
  int64_t ByteCount() const override { return position_; }

 private:
  const absl::Span<const absl::string_view> runs_;
  size_t index_ = 0;
  size_t offset_ = 0;
  int64_t position_ = 0;
};

class FrameParser {
 public:
  FrameParser(absl::Span<const absl::string_view> runs, size_t total)
      : stream_(runs), in_(&stream_), total_(total) {}

  absl::StatusOr<ParsedFrame> Parse() {
    while (const uint32_t tag = in_.ReadTag()) {
      RETURN_IF_ERROR(ReadField(tag));
      const uint32_t field = tag >> 3;  // known, hence below 64
      if (seen_ >> field & 1) return Damaged(absl::StrCat("field ", field, " twice"));
      seen_ |= uint64_t{1} << field;
    }
    // A tag of 0 is the regular end only when nothing is left.
    if (!in_.ConsumedEntireMessage() ||
        static_cast<size_t>(in_.CurrentPosition()) + skipped_payload_ != total_) {
      return Damaged("it is cut off");
    }
    return std::move(frame_);
  }

 private:
  absl::Status Damaged(absl::string_view how) const {
    return absl::DataLossError(absl::StrCat("frame of ", total_, " bytes cannot be read: ", how));
  }

  absl::Status ReadField(uint32_t tag) {
    uint64_t generation = 0;
    switch (tag) {
      case kJob:
        return ReadFixed(&frame_.group.job);
      case kGeneration:
        RETURN_IF_ERROR(ReadFixed(&generation));
        frame_.group.generation = static_cast<int64_t>(generation);
        return absl::OkStatus();
      case kTag:
        return ReadFixed(&frame_.data.tag);
      case kMessageBytes:
        return ReadFixed(&frame_.data.message_bytes);
      case kOffset:
        return ReadFixed(&frame_.data.offset);
      case kHello:
        return ReadHello();
      case kFarewell:
        return ReadFarewell();
      case kPayload:
        return ReadPayload();
      default:
        return Damaged(absl::StrCat("unknown field ", tag >> 3, " of wire type ", tag & 7));
    }
  }

  absl::Status ReadFixed(uint64_t* value) {
    if (!in_.ReadLittleEndian64(value)) return Damaged("it is cut off");
    return absl::OkStatus();
  }

  absl::Status ReadControl(google::protobuf::MessageLite* message) {
    uint32_t size = 0;
    std::string bytes;
    if (frame_.kind != ParsedFrame::Kind::kData) return Damaged("both hello and farewell");
    if (!in_.ReadVarint32(&size) || size > kMaxControlBytes ||
        !in_.ReadString(&bytes, static_cast<int>(size)) || !message->ParseFromString(bytes)) {
      return Damaged("bad hello or farewell");
    }
    return absl::OkStatus();
  }

  absl::Status ReadHello() {
    v1::Hello hello;
    RETURN_IF_ERROR(ReadControl(&hello));
    if (hello.protocol_version() != kProtocolVersion) {
      return absl::FailedPreconditionError(
          absl::StrCat("protocol version ", hello.protocol_version(), " of the peer; this program speaks ",
                       kProtocolVersion, ": install the same release on all nodes"));
    }
    frame_.kind = ParsedFrame::Kind::kHello;
    frame_.hello = {hello.rank(), hello.peer_rank(), hello.world_size()};
    return absl::OkStatus();
  }

  absl::Status ReadFarewell() {
    v1::Farewell farewell;
    RETURN_IF_ERROR(ReadControl(&farewell));
    frame_.kind = ParsedFrame::Kind::kFarewell;
    if (farewell.code() == 0) return absl::OkStatus();
    // An unknown code becomes kUnknown.
    frame_.farewell = absl::Status(static_cast<absl::StatusCode>(farewell.code()), farewell.message());
    if (farewell.has_lost_rank()) SetLostRank(farewell.lost_rank(), &frame_.farewell);
    return absl::OkStatus();
  }

  absl::Status ReadPayload() {
    uint64_t size = 0;
    if (!in_.ReadVarint64(&size)) return Damaged("it is cut off");
    frame_.payload_begin = static_cast<size_t>(in_.CurrentPosition());
    if (size != total_ - frame_.payload_begin) {
      return Damaged(
          absl::StrCat("payload of ", size, " bytes where ", total_ - frame_.payload_begin, " are left"));
    }
    frame_.payload_bytes = size;
    if (size > 0) {
      // Leave it where it is: make the loop of Parse end here.
      skipped_payload_ = size;
      in_.PushLimit(0);
    }
    return absl::OkStatus();
  }

  RunInputStream stream_;
  CodedInputStream in_;
  const size_t total_;
  uint64_t seen_ = 0;  // one bit per field number
  size_t skipped_payload_ = 0;
  ParsedFrame frame_;
};

std::string Encode(const v1::Frame& frame) { return frame.SerializeAsString(); }

v1::Frame ControlFrame(const GroupId& group) {
  v1::Frame frame;
  frame.set_job(group.job);
  frame.set_generation(group.generation);
  return frame;
}

}  // namespace

std::string EncodeDataHeader(const GroupId& group, const DataHeader& header, size_t payload_bytes) {
  // 5 fields of 9 bytes, one byte of tag and at most 10 of length.
  std::string bytes;
  bytes.resize(5 * 9 + 1 + 10);
  uint8_t* const begin = reinterpret_cast<uint8_t*>(bytes.data());
  uint8_t* end = begin;
  const auto fixed = [&end](uint32_t tag, uint64_t value) {
    end = CodedOutputStream::WriteTagToArray(tag, end);
    end = CodedOutputStream::WriteLittleEndian64ToArray(value, end);
  };
  fixed(kJob, group.job);
  fixed(kGeneration, static_cast<uint64_t>(group.generation));
  fixed(kTag, header.tag);
  fixed(kMessageBytes, header.message_bytes);
  fixed(kOffset, header.offset);
  end = CodedOutputStream::WriteTagToArray(kPayload, end);
  end = CodedOutputStream::WriteVarint64ToArray(payload_bytes, end);
  bytes.resize(static_cast<size_t>(end - begin));
  return bytes;
}

std::string EncodeHello(const GroupId& group, const HelloFrame& hello) {
  v1::Frame frame = ControlFrame(group);
  frame.mutable_hello()->set_protocol_version(kProtocolVersion);
  frame.mutable_hello()->set_rank(hello.rank);
  frame.mutable_hello()->set_peer_rank(hello.peer_rank);
  frame.mutable_hello()->set_world_size(hello.world_size);
  return Encode(frame);
}

std::string EncodeFarewell(const GroupId& group, const absl::Status& status) {
  constexpr size_t kMaxMessageBytes = 4096;  // for people; far below kMaxControlBytes
  v1::Frame frame = ControlFrame(group);
  v1::Farewell* farewell = frame.mutable_farewell();
  farewell->set_code(status.raw_code());
  farewell->set_message(std::string(status.message().substr(0, kMaxMessageBytes)));
  if (const std::optional<int> rank = LostRank(status)) farewell->set_lost_rank(*rank);
  return Encode(frame);
}

absl::StatusOr<ParsedFrame> ParseFrame(absl::Span<const absl::string_view> runs) {
  size_t total = 0;
  for (absl::string_view run : runs) total += run.size();
  if (total > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::DataLossError(absl::StrCat("frame of ", total, " bytes"));
  }
  return FrameParser(runs, total).Parse();
}

}  // namespace lockstep

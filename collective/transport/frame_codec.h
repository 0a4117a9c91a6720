// Writes and reads the frames of proto/collective.proto by hand, so that payloads are never copied into a
// message. What is written is legal protobuf, and whatever the generated class writes can be read, as long as
// the payload comes last; collective/transport/frame_codec_test.cc holds the two against each other.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_FRAME_CODEC_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_FRAME_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lockstep {

// Which group a frame belongs to.
struct GroupId {
  uint64_t job = 0;
  int64_t generation = 0;

  bool operator==(const GroupId& other) const { return job == other.job && generation == other.generation; }
  bool operator<(const GroupId& other) const {
    return job != other.job ? job < other.job : generation < other.generation;
  }
};

// Where the payload of a data frame belongs.
struct DataHeader {
  uint64_t tag = 0;
  uint64_t message_bytes = 0;
  uint64_t offset = 0;
};

struct HelloFrame {
  int rank = 0;
  int peer_rank = 0;
  int world_size = 0;
};

struct ParsedFrame {
  enum class Kind { kHello, kFarewell, kData };

  GroupId group;
  Kind kind = Kind::kData;
  HelloFrame hello;          // of kHello
  absl::Status farewell;     // of kFarewell; OK at the end of a job
  DataHeader data;           // of kData
  size_t payload_begin = 0;  // position in the frame
  size_t payload_bytes = 0;
};

// The bytes of a data frame up to its payload of `payload_bytes` bytes, which is to follow.
std::string EncodeDataHeader(const GroupId& group, const DataHeader& header, size_t payload_bytes);

// Whole frames.
std::string EncodeHello(const GroupId& group, const HelloFrame& hello);
// Keeps code, message and LostRank of `status`.
std::string EncodeFarewell(const GroupId& group, const absl::Status& status);

// Reads a frame that lies in several runs of bytes, cut anywhere.
// Errors: DATA_LOSS if this is no frame; FAILED_PRECONDITION if its peer speaks another protocol version.
absl::StatusOr<ParsedFrame> ParseFrame(absl::Span<const absl::string_view> runs);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_FRAME_CODEC_H_

#include "collective/transport/frame_codec.h"

#include <random>
#include <vector>

#include "base/status_matchers.h"
#include "collective/peer_lost.h"
#include "proto/collective.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

const GroupId kGroup{0x123456789abcdef0, -7};

std::string DataFrame(const DataHeader& header, const std::string& payload) {
  return EncodeDataHeader(kGroup, header, payload.size()) + payload;
}

// Cuts `frame` into runs at random places; some are empty.
std::vector<absl::string_view> Slice(const std::string& frame, std::mt19937* random) {
  std::vector<absl::string_view> runs;
  for (size_t position = 0; position < frame.size();) {
    const size_t size = std::min<size_t>(frame.size() - position, (*random)() % 12);
    runs.push_back(absl::string_view(frame).substr(position, size));
    position += size;
  }
  return runs;
}

absl::StatusOr<ParsedFrame> Parse(const std::string& frame) { return ParseFrame({frame}); }

TEST(FrameCodecTest, WhatWeWriteTheGeneratedClassReads) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const std::string payload(random() % 300, static_cast<char>(trial));
    const DataHeader header{random(), random(), random() >> (random() % 64)};
    v1::Frame frame;
    ASSERT_TRUE(frame.ParseFromString(DataFrame(header, payload)));
    EXPECT_EQ(frame.job(), kGroup.job);
    EXPECT_EQ(frame.generation(), kGroup.generation);
    EXPECT_EQ(frame.tag(), header.tag);
    EXPECT_EQ(frame.message_bytes(), header.message_bytes);
    EXPECT_EQ(frame.offset(), header.offset);
    EXPECT_EQ(frame.payload(), payload);
    EXPECT_FALSE(frame.has_hello() || frame.has_farewell());
  }
}

TEST(FrameCodecTest, WhatTheGeneratedClassWritesWeReadHoweverItIsCut) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    v1::Frame frame;
    if (random() % 2 == 0) frame.set_job(random());
    if (random() % 2 == 0) frame.set_generation(-static_cast<int64_t>(random()));
    if (random() % 2 == 0) frame.set_tag(random());
    if (random() % 2 == 0) frame.set_message_bytes(random());
    if (random() % 2 == 0) frame.set_offset(random());
    frame.set_payload(std::string(random() % 100, 'p'));
    const std::string bytes = frame.SerializeAsString();
    ASSERT_OK_AND_ASSIGN(const ParsedFrame parsed, ParseFrame(Slice(bytes, &random)));
    EXPECT_EQ(parsed.kind, ParsedFrame::Kind::kData);
    EXPECT_EQ(parsed.group.job, frame.job());
    EXPECT_EQ(parsed.group.generation, frame.generation());
    EXPECT_EQ(parsed.data.tag, frame.tag());
    EXPECT_EQ(parsed.data.message_bytes, frame.message_bytes());
    EXPECT_EQ(parsed.data.offset, frame.offset());
    ASSERT_EQ(parsed.payload_bytes, frame.payload().size());
    if (parsed.payload_bytes > 0) {
      EXPECT_EQ(bytes.substr(parsed.payload_begin), frame.payload());
    }
  }
}

TEST(FrameCodecTest, HelloComesBack) {
  std::mt19937 random(3);
  const std::string frame = EncodeHello(kGroup, {2, 1, 5});
  ASSERT_OK_AND_ASSIGN(const ParsedFrame parsed, ParseFrame(Slice(frame, &random)));
  EXPECT_EQ(parsed.kind, ParsedFrame::Kind::kHello);
  EXPECT_TRUE(parsed.group == kGroup);
  EXPECT_EQ(parsed.hello.rank, 2);
  EXPECT_EQ(parsed.hello.peer_rank, 1);
  EXPECT_EQ(parsed.hello.world_size, 5);
}

TEST(FrameCodecTest, FarewellKeepsCodeMessageAndCulprit) {
  const absl::Status cause = MakePeerLostStatus(3, "a:1", "gone");
  ASSERT_OK_AND_ASSIGN(const ParsedFrame parsed, Parse(EncodeFarewell(kGroup, cause)));
  EXPECT_EQ(parsed.kind, ParsedFrame::Kind::kFarewell);
  EXPECT_EQ(parsed.farewell, cause);
  ASSERT_OK_AND_ASSIGN(const ParsedFrame in_order, Parse(EncodeFarewell(kGroup, absl::OkStatus())));
  EXPECT_EQ(in_order.kind, ParsedFrame::Kind::kFarewell);
  EXPECT_OK(in_order.farewell);
}

TEST(FrameCodecTest, AnotherProtocolVersionIsRefused) {
  v1::Frame frame;
  frame.mutable_hello()->set_protocol_version(2);
  EXPECT_THAT(Parse(frame.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("protocol version 2")));
}

TEST(FrameCodecTest, EveryTruncationIsRefused) {
  std::mt19937 random(4);
  for (const std::string& frame : {DataFrame({1, 2, 3}, std::string(40, 'x')), EncodeHello(kGroup, {1, 0, 2}),
                                   EncodeFarewell(kGroup, absl::InternalError("message"))}) {
    ASSERT_OK(Parse(frame));
    for (size_t size = 0; size < frame.size(); ++size) {
      const std::string part = frame.substr(0, size);
      const absl::StatusOr<ParsedFrame> parsed = ParseFrame(Slice(part, &random));
      // Cut between two fields, it is a frame with less in it; but never one with a payload.
      if (parsed.ok()) {
        EXPECT_EQ(parsed->payload_bytes, 0u);
        EXPECT_EQ(parsed->kind, ParsedFrame::Kind::kData);
      }
    }
  }
}

TEST(FrameCodecTest, AFlippedBitIsRefusedOrReadAsTheGeneratedClassWould) {
  for (const std::string& original :
       {DataFrame({1, 2, 3}, std::string(40, 'x')), EncodeHello(kGroup, {1, 0, 2}),
        EncodeFarewell(kGroup, absl::InternalError("message"))}) {
    for (size_t bit = 0; bit < original.size() * 8; ++bit) {
      std::string frame = original;
      frame[bit / 8] ^= static_cast<char>(1 << bit % 8);
      const absl::StatusOr<ParsedFrame> parsed = Parse(frame);
      if (!parsed.ok()) continue;
      v1::Frame reference;
      ASSERT_TRUE(reference.ParseFromString(frame)) << bit;
      EXPECT_EQ(parsed->data.tag, reference.tag());
      EXPECT_EQ(parsed->data.message_bytes, reference.message_bytes());
      EXPECT_EQ(parsed->payload_bytes, reference.payload().size());
      EXPECT_EQ(parsed->kind == ParsedFrame::Kind::kHello, reference.has_hello());
      EXPECT_LE(parsed->payload_begin + parsed->payload_bytes, frame.size());
    }
  }
}

TEST(FrameCodecTest, RandomBytesNeverCrash) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 100000; ++trial) {
    std::string frame(random() % 40, '\0');
    for (char& c : frame) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 128);
    const absl::StatusOr<ParsedFrame> parsed = ParseFrame(Slice(frame, &random));
    if (parsed.ok()) {
      EXPECT_LE(parsed->payload_begin + parsed->payload_bytes, frame.size());
    }
  }
}

TEST(FrameCodecTest, RefusesAPayloadThatIsNotLast) {
  const std::string frame = DataFrame({1, 2, 3}, "abc") + EncodeHello({}, {1, 0, 2});
  EXPECT_THAT(Parse(frame), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("payload of 3 bytes where")));
}

TEST(FrameCodecTest, RefusesALengthBeyondTheFrame) {
  EXPECT_THAT(Parse(EncodeDataHeader(kGroup, {}, size_t{1} << 62) + "abc"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("where 3 are left")));
}

}  // namespace
}  // namespace lockstep

#include "collective/transport/parts_sink.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

struct Message {
  std::vector<double> doubles;
  std::vector<float> floats;
  std::vector<std::byte> bytes;

  std::string Serialized() const {
    std::string result;
    for (double value : doubles) result.append(reinterpret_cast<const char*>(&value), sizeof(value));
    for (float value : floats) result.append(reinterpret_cast<const char*>(&value), sizeof(value));
    for (std::byte value : bytes) result.push_back(static_cast<char>(value));
    return result;
  }
  ReceiveParts Parts() { return {absl::MakeSpan(doubles), absl::MakeSpan(floats), absl::MakeSpan(bytes)}; }
};

// Feeds `wire` in runs of random length; each run lies at an odd address, so that no load is aligned.
void FeedInRandomRuns(const std::string& wire, std::mt19937* random, PartsSink* sink) {
  for (size_t position = 0; position < wire.size();) {
    const size_t size = std::min<size_t>(wire.size() - position, (*random)() % 13);
    const std::string run = "x" + wire.substr(position, size);
    sink->Consume(run.data() + 1, size);
    position += size;
    ASSERT_EQ(sink->position(), position);
  }
  EXPECT_EQ(sink->remaining(), 0u);
}

TEST(PartsSinkTest, AddsEveryElementWhereverTheBytesAreCut) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    Message sent{std::vector<double>(random() % 5), std::vector<float>(random() % 40), {}};
    Message target = sent;
    Message expected = sent;
    for (size_t i = 0; i < sent.doubles.size(); ++i) {
      sent.doubles[i] = static_cast<double>(random() % 1000);
      target.doubles[i] = static_cast<double>(random() % 1000);
      expected.doubles[i] = sent.doubles[i] + target.doubles[i];
    }
    for (size_t i = 0; i < sent.floats.size(); ++i) {
      sent.floats[i] = static_cast<float>(random() % 1000);
      target.floats[i] = static_cast<float>(random() % 1000);
      expected.floats[i] = sent.floats[i] + target.floats[i];
    }
    PartsSink sink(ReceiveMode::kAdd, target.Parts());
    FeedInRandomRuns(sent.Serialized(), &random, &sink);
    EXPECT_EQ(target.doubles, expected.doubles);
    EXPECT_EQ(target.floats, expected.floats);
  }
}

TEST(PartsSinkTest, StoresAllThreePartsWhereverTheBytesAreCut) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 500; ++trial) {
    Message sent{std::vector<double>(random() % 5, 1.5), std::vector<float>(random() % 20, -2.5f),
                 std::vector<std::byte>(random() % 20, std::byte{7})};
    Message target{std::vector<double>(sent.doubles.size()), std::vector<float>(sent.floats.size()),
                   std::vector<std::byte>(sent.bytes.size())};
    PartsSink sink(ReceiveMode::kOverwrite, target.Parts());
    FeedInRandomRuns(sent.Serialized(), &random, &sink);
    EXPECT_EQ(target.Serialized(), sent.Serialized());
  }
}

}  // namespace
}  // namespace lockstep

// The update's exact bits: equal on every instruction set, for every length and alignment, and close to the
// reference in double.
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/optimizer.h"
#include "model/reference/optimizer.h"
#include "model/reference/text_proto.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr float kSentinel = 12345;

// Parameters or a slot between sentinels, beginning `shift` floats after an aligned address.
class Guarded {
 public:
  Guarded(int64_t size, int64_t shift)
      : size_(static_cast<size_t>(size)),
        shift_(static_cast<size_t>(shift)),
        values_(size_ + shift_ + 17, kSentinel) {}

  absl::Span<float> span() { return absl::MakeSpan(values_).subspan(shift_, size_); }
  bool SentinelsAreIntact() const {
    for (size_t i = 0; i < values_.size(); ++i) {
      if ((i < shift_ || i >= shift_ + size_) && values_[i] != kSentinel) return false;
    }
    return true;
  }

 private:
  size_t size_;
  size_t shift_;
  std::vector<float> values_;
};

float RandomNear(uint64_t stream, int64_t i, float centre, float width) {
  const RandomBlock random = Philox(3, RandomPurpose::kSynthetic, stream, static_cast<uint64_t>(i));
  return centre + width * (2 * UnitFloat(random[0]) - 1);
}

float Gradient(int64_t step, int64_t i) {
  // Some are exactly 0, as behind a relu; some are tiny.
  const float value = RandomNear(static_cast<uint64_t>(100 + step), i, 0, 1);
  return i % 7 == 3 ? 0 : i % 11 == 5 ? value * 1e-20f : value;
}

struct State {
  std::vector<float> parameters;
  std::vector<std::vector<float>> slots;
};

constexpr int kSteps = 5;

State Train(const std::string& text, InstructionSet set, int64_t size, int64_t shift) {
  auto optimizer = Optimizer::Create(ParseText<v1::Optimizer>(text), set);
  EXPECT_OK(optimizer);
  Guarded parameters(size, shift);
  for (int64_t i = 0; i < size; ++i) parameters.span()[i] = RandomNear(1, i, 0, 0.3f);
  std::vector<Guarded> slots;
  for (const SlotSpec& slot : (*optimizer)->slots()) {
    slots.emplace_back(size, (shift * 3 + 1) % 16);
    for (float& value : slots.back().span()) value = slot.initial;
  }
  std::vector<absl::Span<float>> spans;
  for (Guarded& slot : slots) spans.push_back(slot.span());
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<float> gradients;
    for (int64_t i = 0; i < size; ++i) gradients.push_back(Gradient(step, i));
    (*optimizer)->Apply(step, (*optimizer)->LearningRateAt(step - 1), gradients, parameters.span(), spans);
  }
  EXPECT_TRUE(parameters.SentinelsAreIntact());
  State state = {{parameters.span().begin(), parameters.span().end()}, {}};
  for (Guarded& slot : slots) {
    EXPECT_TRUE(slot.SentinelsAreIntact());
    state.slots.emplace_back(slot.span().begin(), slot.span().end());
  }
  return state;
}

std::string Bits(const State& state) {
  std::string bytes;
  const auto append = [&](const std::vector<float>& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  append(state.parameters);
  for (const auto& slot : state.slots) append(slot);
  return bytes;
}

std::vector<InstructionSet> AvailableSets() {
  if (BestInstructionSet() == InstructionSet::kAvx2) return {InstructionSet::kAvx2};
  return {InstructionSet::kAvx2, InstructionSet::kAvx512};
}

struct BitsCase {
  const char* text;
  // Hash64 of the state after training 1009 elements, recorded on a processor with AVX-512 from both code
  // paths: a processor with one of the two has to arrive there alone.
  const char* hash;
};

std::ostream& operator<<(std::ostream& out, const BitsCase& bits_case) { return out << bits_case.text; }

const BitsCase kCases[] = {
    {"sgd { learning_rate { constant: 0.1 } }", "567b7a21265c0097"},
    {"sgd { learning_rate { constant: 0.1 } momentum: 0.9 }", "209a2d20db0b7dc1"},
    {"sgd { learning_rate { constant: 0.1 } momentum: 0.9 nesterov: true }", "1a4ca6e7825360d5"},
    {"adam { learning_rate { constant: 0.01 } }", "9688c933018704d7"},
    {"adam { learning_rate { constant: 0.01 } beta_2: 0.7 amsgrad: true }", "72891b034a0f486d"},
    {"adamw { learning_rate { constant: 0.01 } weight_decay: 0.1 }", "082f7ec77f3d0fc6"},
    {"adamw { learning_rate { constant: 0.01 } beta_2: 0.7 amsgrad: true }", "bd654da52ba48cc6"},
    {"rmsprop { learning_rate { constant: 0.01 } }", "ebd5e104cdc7fa62"},
    {"rmsprop { learning_rate { constant: 0.01 } momentum: 0.5 epsilon: 0.01 }", "4e522244dbb342c3"},
    {"rmsprop { learning_rate { constant: 0.01 } epsilon: 0.01 centered: true }", "542e0876e7fa9604"},
    {"rmsprop { learning_rate { constant: 0.01 } momentum: 0.5 epsilon: 0.01 centered: true }",
     "28be958f190098db"},
    {"adagrad { learning_rate { constant: 0.1 } }", "44cefea1bbb40472"},
};

class UpdateBitsTest : public ::testing::TestWithParam<BitsCase> {};

TEST_P(UpdateBitsTest, EveryInstructionSetGivesTheRecordedBits) {
  for (InstructionSet set : AvailableSets()) {
    const State state = Train(GetParam().text, set, 1009, 0);
    EXPECT_EQ(HashToHex(Hash64(Bits(state))), GetParam().hash) << "set " << static_cast<int>(set);
  }
}

TEST_P(UpdateBitsTest, LengthAndAlignmentChangeNoBit) {
  const State longest = Train(GetParam().text, InstructionSet::kAvx2, 67, 0);
  for (InstructionSet set : AvailableSets()) {
    for (int64_t size : {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 67}) {
      for (int64_t shift : {0, 1, 5}) {
        State expected = longest;
        expected.parameters.resize(static_cast<size_t>(size));
        for (auto& slot : expected.slots) slot.resize(static_cast<size_t>(size));
        EXPECT_EQ(Bits(Train(GetParam().text, set, size, shift)), Bits(expected))
            << "set " << static_cast<int>(set) << " size " << size << " shift " << shift;
      }
    }
  }
}

TEST_P(UpdateBitsTest, AgreesWithTheReference) {
  constexpr int64_t kSize = 101;
  const State state = Train(GetParam().text, BestInstructionSet(), kSize, 0);
  const auto spec = ParseText<v1::Optimizer>(GetParam().text);
  ASSERT_OK_AND_ASSIGN(const auto optimizer, Optimizer::Create(spec));
  std::vector<double> parameters;
  for (int64_t i = 0; i < kSize; ++i) parameters.push_back(RandomNear(1, i, 0, 0.3f));
  std::vector<std::vector<double>> slots;
  for (const SlotSpec& slot : optimizer->slots()) slots.emplace_back(kSize, slot.initial);
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<double> gradients;
    for (int64_t i = 0; i < kSize; ++i) gradients.push_back(Gradient(step, i));
    ReferenceApply(spec, step, optimizer->LearningRateAt(step - 1), gradients, &parameters, &slots);
  }
  for (size_t i = 0; i < kSize; ++i) {
    // Five steps of up to ten operations of 2^-24, on values of about 1.
    EXPECT_NEAR(state.parameters[i], parameters[i], 50 * 0x1p-24) << "parameter " << i;
    for (size_t s = 0; s < slots.size(); ++s) {
      EXPECT_NEAR(state.slots[s][i], slots[s][i], 50 * 0x1p-24) << optimizer->slots()[s].name << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllRules, UpdateBitsTest, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace lockstep

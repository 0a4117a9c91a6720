#include "model/network.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

constexpr char kToy[] = R"pb(
  input { shape: [ 20 ] }
  layers { dense { units: 32 activation: RELU } }
  layers { dense { units: 2 } }
)pb";

constexpr char kDropout[] = R"pb(
  input { shape: [ 4, 6 ] }
  layers { flatten {} }
  layers { dense { units: 17 activation: GELU } }
  layers { dropout { rate: 0.5 } }
  layers { dense { units: 3 activation: SOFTMAX } }
)pb";

v1::Model Parse(const std::string& text) {
  v1::Model model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model));
  return model;
}

std::unique_ptr<Network> Make(const std::string& text) {
  absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(Parse(text));
  EXPECT_OK(network);
  return *std::move(network);
}

// Numbers without a pattern that a mistake could hide in.
std::vector<float> Numbers(int64_t count, int salt) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((static_cast<int>(i) * 7919 + salt * 104729) % 2003) / 1001.0f - 1.0f;
  }
  return numbers;
}

class RecordingSink : public GradientSink {
 public:
  void OnFinal(int64_t begin, int64_t end) override { ranges.emplace_back(begin, end); }
  Ranges ranges;
};

PassContext Training() {
  PassContext context;
  context.training = true;
  context.seed = 5;
  return context;
}

// A network with parameters, and the outputs and gradients of its last step.
struct Trained {
  explicit Trained(const std::string& text, int64_t max_rows = 64, int threads = 1) : network(Make(text)) {
    parameters.resize(static_cast<size_t>(network->layout().size()));
    gradients.assign(parameters.size(), 99.0f);
    network->Initialize(1, absl::MakeSpan(parameters));
    EXPECT_OK(network->Prepare(max_rows, threads));
  }

  // Features and output gradients are those of rows `first` to `first + rows` of one long batch.
  void Step(int64_t first, int64_t rows, GradientSink* sink = nullptr) {
    const int64_t inputs = NumElements(network->input_shape());
    const int64_t width = NumElements(network->output_shape());
    const std::vector<float> features = Numbers((first + rows) * inputs, 1);
    const std::vector<float> output_gradient = Numbers((first + rows) * width, 2);
    PassContext context = Training();
    context.first_row = first;
    absl::StatusOr<const float*> result =
        network->Forward(parameters, features.data() + first * inputs, rows, context);
    ASSERT_OK(result);
    outputs.assign(*result, *result + rows * width);
    ASSERT_OK(network->Backward(parameters, output_gradient.data() + first * width, absl::MakeSpan(gradients),
                                sink));
  }

  std::unique_ptr<Network> network;
  std::vector<float> parameters;
  std::vector<float> gradients;
  std::vector<float> outputs;
};

TEST(NetworkTest, ParametersLieInReverseLayerOrder) {
  const std::unique_ptr<Network> network = Make(kToy);
  std::vector<std::string> names;
  for (const Parameter& parameter : network->layout().parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names, ElementsAre("dense_1/kernel", "dense_1/bias", "dense/kernel", "dense/bias"));
  EXPECT_EQ(network->layout().Find("dense/kernel")->shape, Shape({20, 32}));
  EXPECT_EQ(network->layout().size(), 64 + 16 + 640 + 32);
}

TEST(NetworkTest, SummaryTellsShapesAndCosts) {
  const std::vector<LayerSummary> summary = Make(kDropout)->Summary();
  ASSERT_EQ(summary.size(), 4u);
  EXPECT_EQ(summary[0].kind, "flatten");
  EXPECT_EQ(summary[0].output_shape, Shape({24}));
  EXPECT_EQ(summary[0].activation_bytes_per_row, 0);
  EXPECT_EQ(summary[1].name, "dense");
  EXPECT_EQ(summary[1].parameters, 24 * 17 + 17);
  EXPECT_EQ(summary[1].flops_per_row, 2 * 24 * 17);
  EXPECT_EQ(summary[1].activation_bytes_per_row, 2 * 17 * 4);
  EXPECT_EQ(summary[3].name, "dense_1");
  EXPECT_EQ(summary[3].output_shape, Shape({3}));
}

TEST(NetworkTest, KnowsWhetherItEndsInASoftmax) {
  EXPECT_FALSE(Make(kToy)->ends_in_softmax());
  EXPECT_TRUE(Make(kDropout)->ends_in_softmax());
  EXPECT_TRUE(Make(R"pb(
                input { shape: [ 3 ] }
                layers { activation { function: SOFTMAX } }
                layers { flatten {} }
              )pb")
                  ->ends_in_softmax());
}

TEST(NetworkTest, MistakesAreNamedByTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"layers { flatten {} }", "model.input: shape is missing"},
      {"input { shape: [ 3, 0 ] } layers { flatten {} }", "model.input: shape [3, 0] has a size of 0"},
      {"input { shape: [ 3 ] }", "model: layers is empty"},
      {"input { shape: [ 3 ] } layers {}", "model.layers[0] (layer): the kind of layer is missing"},
      {"input { shape: [ 3 ] } layers { dense { units: 3 } } layers { dense {} }",
       "model.layers[1] (dense_1): units is 0, must be at least 1"},
      {"input { shape: [ 3 ] } layers { dense { units: 9000000000000000000 } }",
       "model.layers[0] (dense): kernel: "},
      {"input { shape: [ 3 ] } layers { dense { units: 3 kernel_regularizer { l2: -1 } } }",
       "model.layers[0] (dense): kernel_regularizer: l2 is -1"},
      {"input { shape: [ 3 ] } layers { dense { units: 3 activation: 77 } }",
       "model.layers[0] (dense): activation is 77"},
      {"input { shape: [ 3 ] } layers { dense { units: 3 activation: RELU leaky_relu_slope: 0.1 } }",
       "model.layers[0] (dense): leaky_relu_slope is set"},
      {"input { shape: [ 3 ] } layers { activation {} }",
       "model.layers[0] (activation): function is missing"},
      {"input { shape: [ 3 ] } layers { dropout { rate: 1 } }", "model.layers[0] (dropout): rate is 1"},
      {"input { shape: [ 3 ] } layers { dropout { rate: nan } }", "model.layers[0] (dropout): rate is nan"},
      {"input { shape: [ 12 ] } layers { reshape { shape: [ -1, 5 ] } }",
       "model.layers[0] (reshape): shape [-1, 5] cannot hold the 12 elements of [12]"},
      {"input { shape: [ 12 ] } layers { reshape { shape: [ -1, -1 ] } }", "more than one size of -1"},
      {"input { shape: [ 3 ] } layers { name: \"a/b\" flatten {} }", "the name may hold letters"},
      {"input { shape: [ 3 ] } layers { name: \"a\" flatten {} } layers { name: \"a\" flatten {} }",
       "model.layers[1] (a): another layer has the same name"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Network::Create(Parse(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST(NetworkTest, MadeNamesLeaveOutGivenOnes) {
  const std::vector<LayerSummary> summary = Make(R"pb(
                                              input { shape: [ 3 ] }
                                              layers { dense { units: 1 } }
                                              layers {
                                                name: "dense_1"
                                                dense { units: 1 }
                                              }
                                              layers { dense { units: 1 } }
                                            )pb")
                                                ->Summary();
  EXPECT_EQ(summary[0].name, "dense");
  EXPECT_EQ(summary[2].name, "dense_2");
}

TEST(NetworkTest, InitialValuesDependOnSeedAndNameAlone) {
  const std::unique_ptr<Network> toy = Make(kToy);
  const std::unique_ptr<Network> deeper = Make(std::string(kToy) + "layers { dense { units: 5 } }");
  std::vector<float> values(static_cast<size_t>(toy->layout().size()), 99.0f);
  std::vector<float> others(static_cast<size_t>(deeper->layout().size()), 99.0f);
  toy->Initialize(1, absl::MakeSpan(values));
  deeper->Initialize(1, absl::MakeSpan(others));

  const int64_t at = toy->layout().Find("dense/kernel")->offset;
  const int64_t other_at = deeper->layout().Find("dense/kernel")->offset;
  EXPECT_NE(at, other_at);
  EXPECT_TRUE(std::equal(values.begin() + at, values.begin() + at + 640, others.begin() + other_at));

  std::vector<float> of_other_seed(values.size());
  toy->Initialize(2, absl::MakeSpan(of_other_seed));
  EXPECT_NE(values, of_other_seed);
}

TEST(NetworkTest, BiasAndPaddingStartAtZero) {
  const std::unique_ptr<Network> toy = Make(kToy);
  std::vector<float> values(static_cast<size_t>(toy->layout().size()), 99.0f);
  toy->Initialize(1, absl::MakeSpan(values));
  const int64_t bias = toy->layout().Find("dense_1/bias")->offset;
  EXPECT_THAT(std::vector<float>(values.begin() + bias, values.begin() + bias + 16), Each(0.0f));
}

TEST(NetworkTest, PassesNeedPreparation) {
  const std::unique_ptr<Network> network = Make(kToy);
  const std::vector<float> parameters(static_cast<size_t>(network->layout().size()));
  const std::vector<float> features(20);
  EXPECT_THAT(network->Forward(parameters, features.data(), 1, Training()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Prepare")));
  EXPECT_THAT(network->Prepare(0, 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 rows")));
  EXPECT_THAT(network->Prepare(std::numeric_limits<int64_t>::max(), 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rows")));
  EXPECT_THAT(network->Prepare(int64_t{1} << 32, 1),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("smaller batch")));
}

TEST(NetworkTest, ThreadsCannotChange) {
  Trained toy(kToy);
  EXPECT_THAT(toy.network->Prepare(64, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("1 threads, not 2")));
}

TEST(NetworkTest, SizesAreChecked) {
  Trained toy(kToy, 8);
  const std::vector<float> features(9 * 20);
  EXPECT_THAT(toy.network->Forward(toy.parameters, features.data(), 9, Training()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 0 to 8")));
  EXPECT_THAT(toy.network->Forward(absl::MakeSpan(toy.parameters).subspan(1), features.data(), 1, Training()),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("parameters have 751 elements")));
}

TEST(NetworkTest, BackwardNeedsAForwardPassInTraining) {
  Trained toy(kToy);
  const std::vector<float> features(20);
  const std::vector<float> output_gradient(2);
  ASSERT_OK(toy.network->Forward(toy.parameters, features.data(), 1, PassContext()));
  EXPECT_THAT(
      toy.network->Backward(toy.parameters, output_gradient.data(), absl::MakeSpan(toy.gradients), nullptr),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("forward pass in training")));
}

TEST(NetworkTest, TwoPassesGiveTheSameBits) {
  Trained first(kDropout);
  Trained second(kDropout);
  first.Step(0, 33);
  second.Step(0, 64);
  second.Step(0, 33);
  EXPECT_EQ(first.outputs, second.outputs);
  EXPECT_EQ(first.gradients, second.gradients);
}

TEST(NetworkTest, AnyNumberOfRowCountsIsServed) {
  Trained once(kDropout);
  once.Step(0, 3);
  Trained many(kDropout);
  for (int64_t rows = 1; rows <= 40; ++rows) many.Step(0, rows);
  many.Step(0, 3);
  EXPECT_EQ(once.outputs, many.outputs);
  EXPECT_EQ(once.gradients, many.gradients);
}

TEST(NetworkTest, NoRowsGiveZeroGradients) {
  Trained toy(kToy);
  RecordingSink sink;
  toy.Step(0, 0, &sink);
  EXPECT_THAT(toy.gradients, Each(0.0f));
  EXPECT_THAT(sink.ranges, ElementsAre(Pair(0, 752)));
}

TEST(NetworkTest, PaddingOfGradientsIsCleared) {
  Trained toy(kToy);
  toy.Step(0, 5);
  const int64_t bias = toy.network->layout().Find("dense_1/bias")->offset;
  EXPECT_THAT(std::vector<float>(toy.gradients.begin() + bias + 2, toy.gradients.begin() + bias + 16),
              Each(0.0f));
}

TEST(NetworkTest, SinkHearsOfTheWholeBufferInOrder) {
  Trained toy(kDropout);
  RecordingSink sink;
  toy.Step(0, 7, &sink);
  const int64_t lower = toy.network->layout().Find("dense/kernel")->offset;
  EXPECT_THAT(sink.ranges, ElementsAre(Pair(0, lower), Pair(lower, toy.network->layout().size())));
}

// What ranks with shares of a batch add up to is what one rank computes: also with dropout, which must not
// depend on the division.
TEST(NetworkTest, GradientsOfSharesAddUpToThatOfTheBatch) {
  Trained whole(kDropout);
  whole.Step(0, 21);
  Trained share(kDropout);
  std::vector<double> sum(share.gradients.size());
  std::vector<float> outputs;
  for (const auto& [first, rows] : Ranges{{0, 8}, {8, 1}, {9, 12}}) {
    share.Step(first, rows);
    outputs.insert(outputs.end(), share.outputs.begin(), share.outputs.end());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += share.gradients[i];
  }
  // Sums of 21 products of numbers of about 1, each rounded to 2^-24.
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(whole.gradients[i], sum[i], 21 * 0x1p-22) << i;
  for (size_t i = 0; i < outputs.size(); ++i) EXPECT_NEAR(whole.outputs[i], outputs[i], 0x1p-20) << i;
}

TEST(NetworkTest, DropoutIsInactiveOutsideOfTraining) {
  Trained network(kDropout);
  const std::vector<float> features = Numbers(24, 1);
  PassContext context;
  ASSERT_OK_AND_ASSIGN(const float* first,
                       network.network->Forward(network.parameters, features.data(), 1, context));
  const std::vector<float> outputs(first, first + 3);
  context.step = 1;
  ASSERT_OK_AND_ASSIGN(const float* second,
                       network.network->Forward(network.parameters, features.data(), 1, context));
  EXPECT_EQ(outputs, std::vector<float>(second, second + 3));
}

TEST(NetworkTest, NetworkWithoutParametersTrains) {
  Trained network("input { shape: [ 2, 3 ] } layers { flatten {} } layers { dropout { rate: 0.25 } }");
  RecordingSink sink;
  network.Step(0, 4, &sink);
  EXPECT_THAT(sink.ranges, ElementsAre());
  EXPECT_EQ(network.outputs.size(), 24u);
}

TEST(NetworkTest, TwoThreadsGiveTheSameBitsInEveryRun) {
  Trained network("input { shape: 300 } layers { dense { units: 200 } } layers { dense { units: 100 } }", 64,
                  2);
  network.Step(0, 64);
  const std::vector<float> outputs = network.outputs;
  const std::vector<float> gradients = network.gradients;
  for (int run = 0; run < 5; ++run) {
    network.Step(0, 64);
    EXPECT_EQ(network.outputs, outputs);
    EXPECT_EQ(network.gradients, gradients);
  }
}

TEST(NetworkTest, MoreThreadsComputeTheSame) {
  Trained one(kDropout);
  one.Step(0, 64);
  Trained two(kDropout, 64, 2);
  two.Step(0, 64);
  for (size_t i = 0; i < one.gradients.size(); ++i)
    EXPECT_NEAR(one.gradients[i], two.gradients[i], 64 * 0x1p-22);
}

}  // namespace
}  // namespace lockstep

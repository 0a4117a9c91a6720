// Outputs against a reference in double, and gradients against its central differences.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "model/kernels/kernel_cases.h"
#include "model/kernels/reference_kernels.h"
#include "model/network.h"
#include "model/reference_network.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr const char* kModels[] = {
    // The toy program of the documentation.
    "input { shape: 20 } layers { dense { units: 32 activation: RELU } } layers { dense { units: 2 } }",
    "input { shape: 5 } layers { dense { units: 7 activation: LEAKY_RELU } } layers { dense { units: 3 } }",
    "input { shape: 5 } layers { dense { units: 7 activation: ELU } } layers { dense { units: 3 } }",
    "input { shape: 5 } layers { dense { units: 7 activation: GELU } } layers { dense { units: 3 } }",
    "input { shape: 5 } layers { dense { units: 7 activation: SIGMOID } } layers { dense { units: 3 } }",
    "input { shape: 5 } layers { dense { units: 7 activation: TANH } } layers { dense { units: 3 } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { dense { units: 3 activation: SOFTMAX } }",
    // Activations as layers of their own.
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: RELU } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: LEAKY_RELU } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: ELU } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: GELU } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: SIGMOID } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: TANH } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: SOFTMAX } }",
    "input { shape: 5 } layers { dense { units: 7 } } layers { activation { function: LINEAR } }",
    // The last axis of inputs with several, and views between layers.
    "input { shape: [ 3, 4 ] } layers { dense { units: 6 activation: SOFTMAX } } layers { flatten {} }"
    "layers { dense { units: 2 activation: TANH } }",
    "input { shape: 12 } layers { dense { units: 12 } } layers { reshape { shape: [ 2, 3, 2 ] } }"
    "layers { activation { function: SOFTMAX } } layers { dense { units: 5 use_bias: false } }",
    // Below and between layers with parameters.
    "input { shape: 9 } layers { dropout { rate: 0.25 } } layers { dense { units: 16 activation: ELU } }"
    "layers { dropout { rate: 0.5 } } layers { dense { units: 4 } } layers { dropout { rate: 0.5 } }",
};

constexpr int64_t kRows = 7;

PassContext Training() {
  PassContext context;
  context.training = true;
  context.seed = 5;
  context.step = 3;
  context.first_row = 11;
  return context;
}

std::vector<float> Rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

class NetworkGradientTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam(), &spec_));
    ASSERT_OK_AND_ASSIGN(network_, Network::Create(spec_));
    ASSERT_OK(network_->Prepare(kRows, 1));
    parameters_.resize(static_cast<size_t>(network_->layout().size()));
    for (const Parameter& parameter : network_->layout().parameters()) {
      const std::vector<double> numbers = Numbers(parameter.size, 1, static_cast<int>(parameter.offset) + 1);
      std::copy(numbers.begin(), numbers.end(), parameters_.begin() + parameter.offset);
    }
    features_ = Numbers(kRows * NumElements(network_->input_shape()), 1, 2);
    output_gradient_ = Numbers(kRows * NumElements(network_->output_shape()), 1, 3);
  }

  std::vector<double> Reference(const std::vector<double>& parameters) const {
    return ReferenceOutputs(spec_, network_->layout(), parameters, features_, Training());
  }

  // The function whose gradient Backward computes.
  double WeightedSum(const std::vector<double>& parameters) const {
    const std::vector<double> outputs = Reference(parameters);
    double sum = 0;
    for (size_t i = 0; i < outputs.size(); ++i) sum += output_gradient_[i] * outputs[i];
    return sum;
  }

  double CentralDifference(int64_t index) const {
    constexpr double kDelta = 1e-5;  // its square is far below float's precision
    std::vector<double> above = parameters_;
    std::vector<double> below = parameters_;
    above[static_cast<size_t>(index)] += kDelta;
    below[static_cast<size_t>(index)] -= kDelta;
    return (WeightedSum(above) - WeightedSum(below)) / (2 * kDelta);
  }

  v1::Model spec_;
  std::unique_ptr<Network> network_;
  std::vector<double> parameters_, features_, output_gradient_;
};

TEST_P(NetworkGradientTest, OutputsAgreeWithTheReference) {
  ASSERT_OK_AND_ASSIGN(const float* outputs,
                       network_->Forward(Rounded(parameters_), Rounded(features_).data(), kRows, Training()));
  const std::vector<double> expected = Reference(parameters_);
  // Two layers of sums of up to 33 numbers of about 1, each rounded to 2^-24.
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], outputs[i], 64 * 0x1p-24 * 8) << i;
}

TEST_P(NetworkGradientTest, GradientsAreCentralDifferences) {
  const std::vector<float> parameters = Rounded(parameters_);
  const std::vector<float> features = Rounded(features_);
  std::vector<float> gradients(parameters.size(), 99.0f);
  ASSERT_OK(network_->Forward(parameters, features.data(), kRows, Training()));
  ASSERT_OK(
      network_->Backward(parameters, Rounded(output_gradient_).data(), absl::MakeSpan(gradients), nullptr));
  for (const Parameter& parameter : network_->layout().parameters()) {
    double error = 0;
    double norm = 0;
    for (int64_t i = parameter.offset; i < parameter.offset + parameter.size; ++i) {
      const double expected = CentralDifference(i);
      error +=
          (gradients[static_cast<size_t>(i)] - expected) * (gradients[static_cast<size_t>(i)] - expected);
      norm += expected * expected;
    }
    // Float sums of a few dozen terms: some units of 2^-24.
    EXPECT_LE(std::sqrt(error), 1e-6 * std::sqrt(norm) + 1e-6) << parameter.name;
    EXPECT_GT(norm, 0) << parameter.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NetworkGradientTest, ::testing::ValuesIn(kModels));

// dz . kernel^T [rows, inputs]
std::vector<double> InputGradient(const Network& network, absl::string_view kernel_name,
                                  const std::vector<double>& parameters, const std::vector<double>& dz) {
  const Parameter& kernel = *network.layout().Find(kernel_name);
  MatrixProduct::Options options;
  options.n = kernel.shape[0];
  options.k = kernel.shape[1];
  options.m = static_cast<int64_t>(dz.size()) / options.k;
  options.b = MatrixProduct::Layout::kTransposed;
  std::vector<double> dx(static_cast<size_t>(options.m * options.n));
  reference::Product(options, dz.data(), parameters.data() + kernel.offset, nullptr, dx.data());
  return dx;
}

// Wide enough that a product whose output overwrites its input would be wrong: the gradients of activations
// take turns in the arena.
TEST(DeepNetworkTest, GradientsOfActivationsDoNotOverwriteEachOther) {
  v1::Model spec;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "input { shape: 5 } layers { dense { units: 150 } } layers { dense { units: 200 } }"
      "layers { dense { units: 100 } }",
      &spec));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Network> network, Network::Create(spec));
  constexpr int64_t kManyRows = 64;
  ASSERT_OK(network->Prepare(kManyRows, 1));
  const std::vector<double> parameters = Numbers(network->layout().size(), 0.125, 1);
  const std::vector<double> output_gradient = Numbers(kManyRows * 100, 1, 3);
  const std::vector<float> features = Rounded(Numbers(kManyRows * 5, 1, 2));
  std::vector<float> gradients(parameters.size());
  ASSERT_OK(network->Forward(Rounded(parameters), features.data(), kManyRows, Training()));
  ASSERT_OK(network->Backward(Rounded(parameters), Rounded(output_gradient).data(), absl::MakeSpan(gradients),
                              nullptr));

  const std::vector<double> upper = InputGradient(*network, "dense_2/kernel", parameters, output_gradient);
  const std::vector<double> lower = InputGradient(*network, "dense_1/kernel", parameters, upper);
  std::vector<double> expected(150);
  reference::ColumnSums({kManyRows, 150}, lower.data(), expected.data());
  const float* const bias = gradients.data() + network->layout().Find("dense/bias")->offset;
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-4; };  // of numbers of about 10
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), bias, near));
}

}  // namespace
}  // namespace lockstep

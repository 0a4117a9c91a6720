// Outputs and gradients against values that PyTorch computed (test/golden/make_layers.py).
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using Floats = std::vector<float>;

// Rounding of float sums of up to 32 terms is far below; PyTorch's values are rounded to 9 digits.
constexpr double kTolerance = 1e-5;

void ExpectClose(const std::vector<double>& expected, absl::Span<const float> actual,
                 const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size());
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (expected[i] - actual[i]) * (expected[i] - actual[i]);
    norm += expected[i] * expected[i];
  }
  EXPECT_LE(std::sqrt(error), kTolerance * std::sqrt(norm)) << what;
}

Floats FlatParameters(const ParameterLayout& layout, const Json& values) {
  Floats flat(static_cast<size_t>(layout.size()));
  for (const Parameter& parameter : layout.parameters()) {
    const Floats numbers = values.at(parameter.name).get<Floats>();
    std::copy(numbers.begin(), numbers.end(), flat.begin() + parameter.offset);
  }
  return flat;
}

void ExpectAgreement(const Json& golden, const std::string& activation, const Json& expected) {
  v1::Model spec;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("input { shape: 20 } layers { dense { units: 32 activation: ", activation,
                   " } } layers { dense { units: 2 } }"),
      &spec));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Network> network, Network::Create(spec));
  const int64_t rows = golden.at("rows").get<int64_t>();
  ASSERT_OK(network->Prepare(rows, 1));
  const Floats parameters = FlatParameters(network->layout(), golden.at("parameters"));
  const Floats features = golden.at("features").get<Floats>();
  const Floats output_gradient = golden.at("output_gradient").get<Floats>();
  Floats gradients(parameters.size());

  PassContext context;
  context.training = true;
  ASSERT_OK_AND_ASSIGN(const float* outputs, network->Forward(parameters, features.data(), rows, context));
  ASSERT_OK(network->Backward(parameters, output_gradient.data(), absl::MakeSpan(gradients), nullptr));

  ExpectClose(expected.at("outputs").get<std::vector<double>>(),
              absl::MakeConstSpan(outputs, static_cast<size_t>(rows * 2)), activation + " outputs");
  for (const Parameter& parameter : network->layout().parameters()) {
    ExpectClose(expected.at("gradients").at(parameter.name).get<std::vector<double>>(),
                absl::MakeConstSpan(gradients).subspan(parameter.offset, parameter.size),
                activation + " " + parameter.name);
  }
}

TEST(NetworkGoldenTest, EveryActivationAgreesWithPyTorch) {
  std::ifstream file("test/golden/layers.json");
  const Json golden = Json::parse(file);
  ASSERT_EQ(golden.at("activations").size(), 8u);
  for (const auto& [activation, expected] : golden.at("activations").items()) {
    ExpectAgreement(golden, activation, expected);
  }
}

}  // namespace
}  // namespace lockstep

// Ten training steps against a recorded run of torch and Keras's update rules, both in float64
// (test/golden/make_training.py). The layers between are computed here, naively and in double, so that what
// is tested is the loss, the gradient finishing and the optimizer.
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/gradient_finish.h"
#include "model/loss.h"
#include "model/optimizer.h"
#include "model/reference/text_proto.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using Doubles = std::vector<double>;

const nlohmann::json& Golden() {
  static const auto* golden = [] {
    std::ifstream file("test/golden/training.json");
    EXPECT_TRUE(file.good()) << "test/golden/training.json is missing";
    return new nlohmann::json(nlohmann::json::parse(file));
  }();
  return *golden;
}

// Two dense layers over flat parameters: kernel, bias, kernel, bias.
class Network {
 public:
  Network(const std::vector<size_t>& sizes, size_t rows, const std::string& activation)
      : inputs_(sizes[0]), hidden_(sizes[1]), outputs_(sizes[2]), rows_(rows), activation_(activation) {}

  size_t NumParameters() const { return Bias1() + outputs_; }

  std::vector<ParameterRange> Ranges() const {
    const size_t offsets[] = {0, Bias0(), Kernel1(), Bias1(), NumParameters()};
    std::vector<ParameterRange> ranges;
    for (size_t i = 0; i < 4; ++i) {
      ranges.push_back(
          {static_cast<int64_t>(offsets[i]), static_cast<int64_t>(offsets[i + 1] - offsets[i]), 0});
    }
    return ranges;
  }

  std::vector<float> Forward(const std::vector<float>& w, const Doubles& features) {
    hidden_values_.assign(rows_ * hidden_, 0);
    output_values_.assign(rows_ * outputs_, 0);
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t h = 0; h < hidden_; ++h) {
        double sum = w[Bias0() + h];
        for (size_t i = 0; i < inputs_; ++i) sum += features[r * inputs_ + i] * w[i * hidden_ + h];
        hidden_values_[r * hidden_ + h] = std::max(sum, 0.0);
      }
      for (size_t o = 0; o < outputs_; ++o) {
        double sum = w[Bias1() + o];
        for (size_t h = 0; h < hidden_; ++h) {
          sum += hidden_values_[r * hidden_ + h] * w[Kernel1() + h * outputs_ + o];
        }
        output_values_[r * outputs_ + o] = sum;
      }
      Activate(&output_values_[r * outputs_]);
    }
    return {output_values_.begin(), output_values_.end()};
  }

  std::vector<float> Backward(const std::vector<float>& w, const Doubles& features,
                              const std::vector<float>& output_gradient) const {
    Doubles dw(NumParameters(), 0);
    for (size_t r = 0; r < rows_; ++r) {
      const Doubles dy = Deactivate(&output_values_[r * outputs_], &output_gradient[r * outputs_]);
      for (size_t o = 0; o < outputs_; ++o) dw[Bias1() + o] += dy[o];
      for (size_t h = 0; h < hidden_; ++h) {
        const double value = hidden_values_[r * hidden_ + h];
        double dh = 0;
        for (size_t o = 0; o < outputs_; ++o) {
          dw[Kernel1() + h * outputs_ + o] += value * dy[o];
          dh += w[Kernel1() + h * outputs_ + o] * dy[o];
        }
        if (value <= 0) continue;
        dw[Bias0() + h] += dh;
        for (size_t i = 0; i < inputs_; ++i) dw[i * hidden_ + h] += features[r * inputs_ + i] * dh;
      }
    }
    return {dw.begin(), dw.end()};
  }

 private:
  size_t Bias0() const { return inputs_ * hidden_; }
  size_t Kernel1() const { return Bias0() + hidden_; }
  size_t Bias1() const { return Kernel1() + hidden_ * outputs_; }

  void Activate(double* y) const {
    if (activation_ == "SIGMOID") {
      for (size_t o = 0; o < outputs_; ++o) y[o] = 1 / (1 + std::exp(-y[o]));
    } else if (activation_ == "SOFTMAX") {
      double sum = 0;
      for (size_t o = 0; o < outputs_; ++o) sum += y[o] = std::exp(y[o]);
      for (size_t o = 0; o < outputs_; ++o) y[o] /= sum;
    }
  }

  Doubles Deactivate(const double* y, const float* dy) const {
    Doubles dx(dy, dy + outputs_);
    double dot = 0;
    for (size_t o = 0; o < outputs_; ++o) dot += y[o] * dy[o];
    for (size_t o = 0; o < outputs_; ++o) {
      if (activation_ == "SIGMOID") dx[o] *= y[o] * (1 - y[o]);
      if (activation_ == "SOFTMAX") dx[o] = y[o] * (dx[o] - dot);
    }
    return dx;
  }

  const size_t inputs_, hidden_, outputs_, rows_;
  const std::string activation_;
  Doubles hidden_values_;
  Doubles output_values_;
};

std::vector<float> FlatWeights(const nlohmann::json& weights) {
  std::vector<float> flat;
  for (const char* name : {"dense_0/kernel", "dense_0/bias", "dense_1/kernel", "dense_1/bias"}) {
    for (double value : weights.at(name)) flat.push_back(static_cast<float>(value));
  }
  return flat;
}

class TrainingGoldenTest : public ::testing::TestWithParam<int> {};

TEST_P(TrainingGoldenTest, TenStepsArriveAtTheRecordedWeights) {
  const nlohmann::json& run = Golden().at("runs").at(static_cast<size_t>(GetParam()));
  SCOPED_TRACE(run.at("name"));
  const nlohmann::json& problem = Golden().at("problems").at(run.at("problem"));
  const size_t rows = problem.at("rows");
  const std::vector<size_t> sizes = problem.at("sizes");
  const Doubles features = problem.at("features");
  const nlohmann::json& recorded_labels = problem.at("labels").at(run.at("labels").get<std::string>());
  const std::vector<float> values = recorded_labels;
  const std::vector<int32_t> classes(values.begin(), values.end());
  const bool sparse = run.at("labels") == "classes";
  const Labels labels = {sparse ? classes.data() : nullptr, sparse ? nullptr : values.data()};

  const auto optimizer_spec = ParseText<v1::Optimizer>(run.at("optimizer"));
  ASSERT_OK_AND_ASSIGN(const auto optimizer, Optimizer::Create(optimizer_spec));
  ASSERT_OK_AND_ASSIGN(const auto loss,
                       Loss::Create(ParseText<v1::Loss>(run.at("loss")), {static_cast<int64_t>(sizes[2])}));
  Network network(sizes, rows, run.at("output_activation"));
  ASSERT_OK_AND_ASSIGN(const auto finisher,
                       GradientFinisher::Create(optimizer_spec, network.Ranges(),
                                                static_cast<int64_t>(network.NumParameters())));
  std::vector<float> weights = FlatWeights(problem.at("initial_weights"));
  std::vector<std::vector<float>> slots;
  std::vector<absl::Span<float>> spans;
  for (const SlotSpec& slot : optimizer->slots()) slots.emplace_back(weights.size(), slot.initial);
  for (auto& slot : slots) spans.push_back(absl::MakeSpan(slot));

  int64_t step = 0;
  for (double recorded_loss : run.at("losses")) {
    const std::vector<float> outputs = network.Forward(weights, features);
    std::vector<float> slope(outputs.size());
    const double sum = loss->SumAndGradient(outputs.data(), labels, static_cast<int64_t>(rows), slope.data());
    EXPECT_NEAR(sum / static_cast<double>(rows), recorded_loss, 1e-6 * recorded_loss) << "step " << step;
    std::vector<float> gradients = network.Backward(weights, features, slope);
    ASSERT_TRUE(finisher->Finish(static_cast<double>(rows), weights, absl::MakeSpan(gradients)).finite);
    optimizer->Apply(step + 1, optimizer->LearningRateAt(step), gradients, absl::MakeSpan(weights), spans);
    ++step;
  }
  const std::vector<float> recorded = FlatWeights(run.at("final_weights"));
  double error = 0, norm = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    error += std::pow(static_cast<double>(weights[i]) - recorded[i], 2);
    norm += std::pow(static_cast<double>(recorded[i]), 2);
  }
  const double relative_error = std::sqrt(error / norm);
  std::cout << "relative error of the final weights: " << relative_error << "\n";
  // Ten updates, each with a handful of roundings of 2^-24 that add up like a random walk.
  EXPECT_LE(relative_error, 1e-6);
}

TEST(TrainingGoldenTest, AllRunsAreTested) { EXPECT_EQ(Golden().at("runs").size(), 20u); }

INSTANTIATE_TEST_SUITE_P(AllRuns, TrainingGoldenTest, ::testing::Range(0, 20));

}  // namespace
}  // namespace lockstep

#include "model/optimizer.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/reference/text_proto.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Optimizer> MakeOptimizer(const std::string& text) {
  auto optimizer = Optimizer::Create(ParseText<v1::Optimizer>(text));
  EXPECT_OK(optimizer);
  return std::move(optimizer).value();
}

// One parameter and its slots.
class Probe {
 public:
  explicit Probe(const std::string& text, float parameter = 0)
      : optimizer_(MakeOptimizer(text)), parameter_(parameter) {
    for (const SlotSpec& slot : optimizer_->slots()) slots_.push_back(slot.initial);
  }

  float Step(float gradient) {
    std::vector<absl::Span<float>> slots;
    for (float& slot : slots_) slots.emplace_back(&slot, 1);
    optimizer_->Apply(step_ + 1, optimizer_->LearningRateAt(step_), absl::MakeConstSpan(&gradient, 1),
                      absl::MakeSpan(&parameter_, 1), slots);
    ++step_;
    return parameter_;
  }

  float parameter() const { return parameter_; }

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  int64_t step_ = 0;
  float parameter_;
  std::vector<float> slots_;
};

// Model M1: one weight, one row x = 1, y = 1, mean squared error. The gradient is 2 * (w - 1).
void ExpectWeightsOfM1(const std::string& optimizer, const std::vector<double>& expected) {
  Probe probe(optimizer);
  for (double weight : expected) {
    // Six steps of a few float operations on numbers below 2.
    EXPECT_NEAR(probe.Step(2 * (probe.parameter() - 1)), weight, 6e-7) << optimizer;
  }
}

TEST(OptimizerTest, A29SgdOnM1) {
  ExpectWeightsOfM1("sgd { learning_rate { constant: 0.1 } }", {0.2, 0.36, 0.488, 0.5904, 0.67232, 0.737856});
}

TEST(OptimizerTest, A29MomentumOnM1) {
  ExpectWeightsOfM1("sgd { learning_rate { constant: 0.1 } momentum: 0.9 }",
                    {0.2, 0.54, 0.938, 1.3086, 1.58042, 1.708974});
}

TEST(OptimizerTest, A29NesterovOnM1) {
  ExpectWeightsOfM1("sgd { learning_rate { constant: 0.1 } momentum: 0.9 nesterov: true }",
                    {0.38, 0.7776, 1.108352, 1.32482304, 1.41571758, 1.39801813});
}

TEST(OptimizerTest, A29RmsPropOnM1) {
  ExpectWeightsOfM1("rmsprop { learning_rate { constant: 0.1 } }",
                    {0.31622773, 0.50112934, 0.6308194, 0.72717506, 0.8002048, 0.85570388});
}

TEST(OptimizerTest, A29RmsPropHasEpsilonInsideTheRoot) {
  ExpectWeightsOfM1("rmsprop { learning_rate { constant: 0.1 } epsilon: 1 }",
                    {0.16903085, 0.29895689, 0.40436892});
}

TEST(OptimizerTest, A29OneStepOfRmsPropFromTen) {
  EXPECT_NEAR(Probe("rmsprop { learning_rate { constant: 0.1 } }", 10).Step(10), 9.683772, 1e-6);
}

TEST(OptimizerTest, A29MomentumKeepsTheLearningRateOfItsStep) {
  Probe probe(
      "sgd { momentum: 0.9 learning_rate { piecewise_constant { boundaries: 0 values: [0.1, 0.01] } } }");
  probe.Step(1);
  EXPECT_NEAR(probe.Step(1), -0.2, 1e-7);
}

TEST(OptimizerTest, FirstStepOfAdamIsTheLearningRate) {
  // m / sqrt(v) is 1 after bias correction; epsilon counts before it, divided by sqrt(1 - beta_2).
  const double epsilon = 1e-7 / std::sqrt(0.001);
  EXPECT_NEAR(Probe("").Step(4), -0.001 * 4 / (4 + epsilon), 1e-10);
  EXPECT_NEAR(Probe("adam { learning_rate { constant: 0.1 } }").Step(-1e-5f), 0.1 * 1e-5 / (1e-5 + epsilon),
              1e-8);
}

TEST(OptimizerTest, AdamWShrinksTheParameterFirst) {
  Probe probe("adamw { learning_rate { constant: 0.1 } weight_decay: 0.5 }", 2);
  EXPECT_NEAR(probe.Step(3), 2 * (1 - 0.1 * 0.5) - 0.1, 3e-7);
  EXPECT_NEAR(Probe("adamw {}", 1).Step(0), 1 - 0.001 * 0.004, 6e-8);
}

TEST(OptimizerTest, AmsgradRemembersTheLargestVelocity) {
  Probe plain("adam { learning_rate { constant: 0.1 } beta_1: 0 beta_2: 0.5 }");
  Probe amsgrad("adam { learning_rate { constant: 0.1 } beta_1: 0 beta_2: 0.5 amsgrad: true }");
  EXPECT_EQ(plain.Step(8), amsgrad.Step(8));
  const float before_plain = plain.parameter();
  const float before_amsgrad = amsgrad.parameter();
  // Velocities 32, then 16.5 for plain Adam; bias correction sqrt(1 - 0.25).
  EXPECT_NEAR(plain.Step(1) - before_plain, -0.1 * std::sqrt(0.75 / 16.5), 3e-8);
  EXPECT_NEAR(amsgrad.Step(1) - before_amsgrad, -0.1 * std::sqrt(0.75 / 32), 3e-8);
}

TEST(OptimizerTest, AdagradStartsFromItsAccumulator) {
  EXPECT_NEAR(Probe("adagrad { learning_rate { constant: 0.5 } }").Step(2), -0.5 * 2 / std::sqrt(4.1), 1e-7);
  EXPECT_NEAR(Probe("adagrad { learning_rate { constant: 0.5 } initial_accumulator_value: 5 }").Step(2),
              -0.5 * 2 / 3, 1e-7);
}

TEST(OptimizerTest, CenteredRmsPropStaysFiniteOnSteadyGradients) {
  // v - a^2 is 0 but for rounding, which at gradients of 1000 is far above epsilon.
  Probe probe("rmsprop { centered: true rho: 0.5 }");
  for (int step = 0; step < 200; ++step) probe.Step(1000.1f + 0.001f * static_cast<float>(step % 3));
  EXPECT_TRUE(std::isfinite(probe.parameter()));
}

TEST(OptimizerTest, WrittenDefaultsAreTheDefaults) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "adam { learning_rate { constant: 0.001 } beta_1: 0.9 beta_2: 0.999 epsilon: 1e-7 }"},
      {"adamw {}", "adamw { beta_1: 0.9 beta_2: 0.999 epsilon: 1e-7 weight_decay: 0.004 }"},
      {"rmsprop {}", "rmsprop { learning_rate { constant: 0.001 } rho: 0.9 epsilon: 1e-7 }"},
      {"sgd {}", "sgd { learning_rate { constant: 0.01 } }"},
      {"adagrad {}",
       "adagrad { learning_rate { constant: 0.001 } initial_accumulator_value: 0.1 epsilon: 1e-7 }"},
  };
  for (const auto& [absent, written] : cases) {
    // From 0, so that the parameter shows the last bit of the updates.
    Probe a(absent), b(written);
    for (float gradient : {0.7f, -0.1f, 3.0f}) EXPECT_EQ(a.Step(gradient), b.Step(gradient)) << written;
  }
}

TEST(OptimizerTest, SlotsHaveKerasNames) {
  const auto names = [](const std::string& text) {
    std::vector<std::string> names;
    const auto optimizer = MakeOptimizer(text);
    for (const SlotSpec& slot : optimizer->slots()) names.push_back(slot.name);
    return names;
  };
  EXPECT_THAT(names("sgd {}"), ElementsAre());
  EXPECT_THAT(names("sgd { momentum: 0.9 }"), ElementsAre("momentum"));
  EXPECT_THAT(names("rmsprop { momentum: 0.9 centered: true }"),
              ElementsAre("velocity", "momentum", "average_gradient"));
  EXPECT_THAT(names("adam {}"), ElementsAre("momentum", "velocity"));
  EXPECT_THAT(names("adamw { amsgrad: true }"), ElementsAre("momentum", "velocity", "velocity_hat"));
  EXPECT_THAT(names("adagrad {}"), ElementsAre("accumulator"));
  EXPECT_EQ(MakeOptimizer("adagrad {}")->slots()[0].initial, 0.1f);
  EXPECT_EQ(MakeOptimizer("")->name(), "adam");
  EXPECT_EQ(MakeOptimizer("adamw {}")->name(), "adamw");
}

TEST(OptimizerTest, ZeroPaddingStaysZero) {
  for (const char* text :
       {"sgd {}", "sgd { momentum: 0.9 nesterov: true }", "adam {}", "adamw { amsgrad: true }",
        "rmsprop { centered: true momentum: 0.5 }", "adagrad {}"}) {
    Probe probe(text);
    for (int step = 0; step < 3; ++step) EXPECT_EQ(probe.Step(0), 0) << text;
  }
}

TEST(OptimizerTest, BadHyperparametersAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"sgd { momentum: 1.5 }", "sgd.momentum is 1.5"},
      {"sgd { momentum: -0.1 }", "sgd.momentum is -0.1"},
      {"sgd { momentum: nan }", "sgd.momentum"},
      {"sgd { learning_rate { constant: -1 } }", "learning_rate.constant"},
      {"rmsprop { rho: 1 }", "rmsprop.rho is 1"},
      {"rmsprop { momentum: 2 }", "rmsprop.momentum"},
      {"rmsprop { epsilon: 0 }", "rmsprop.epsilon is 0"},
      {"adam { beta_1: 1 }", "adam.beta_1 is 1"},
      {"adam { beta_2: -0.5 }", "adam.beta_2 is -0.5"},
      {"adam { epsilon: 0 }", "adam.epsilon"},
      {"adamw { epsilon: inf }", "adamw.epsilon"},
      {"adamw { weight_decay: -1 }", "adamw.weight_decay is -1"},
      {"adagrad { initial_accumulator_value: -1 }", "adagrad.initial_accumulator_value"},
      {"adagrad { epsilon: -1 }", "adagrad.epsilon"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Optimizer::Create(ParseText<v1::Optimizer>(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

}  // namespace
}  // namespace lockstep

#include "worker/sequential.h"

#include <memory>
#include <utility>

#include "base/status_matchers.h"
#include "collective/communicator.h"
#include "collective/transport/in_process_transport.h"
#include "data/synthetic_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/specs.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SequentialTest : public ::testing::Test {
 protected:
  SequentialTest() {
    communicator_ = *Communicator::Create(std::move(MakeInProcessGroup(1)[0]), CommunicatorOptions());
    strategy_ = std::make_unique<Strategy>(communicator_.get(), StrategyOptions());
    data_.train = *SyntheticDataset::Create({/*rows=*/8, /*feature_shape=*/{3}, /*classes=*/2});
    options_.fit.set_epochs(1);
    options_.fit.set_batch_size(4);
    options_.fit.set_seed(1);
  }

  static void AddLayers(Sequential* model) {
    model->Input({3});
    model->Add(Dense(2));
  }
  static v1::Compile ForClasses() {
    return MakeCompile(Sgd(), SparseCategoricalCrossentropy(Outputs::kLogits));
  }

  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Strategy> strategy_;
  TrainingData data_;
  FitOptions options_;
};

TEST_F(SequentialTest, AModelMadeOutsideOfAScopeCannotBeCompiled) {
  Sequential model;
  AddLayers(&model);
  EXPECT_THAT(model.Compile(ForClasses()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("outside of a strategy's scope"), HasSubstr("EnterScope"))));
  EXPECT_THAT(model.Fit(data_, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("scope")));
}

TEST_F(SequentialTest, AModelMadeInAScopeTrains) {
  Sequential model(strategy_->EnterScope());
  AddLayers(&model);
  ASSERT_OK(model.Compile(ForClasses()));
  ASSERT_OK_AND_ASSIGN(const v1::JobSummary summary, model.Fit(data_, options_));
  EXPECT_EQ(summary.steps(), 2);
}

TEST_F(SequentialTest, AModelThatIsNotCompiledDoesNotTrain) {
  Sequential model(strategy_->EnterScope());
  AddLayers(&model);
  EXPECT_THAT(model.Fit(data_, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Compile")));
}

TEST_F(SequentialTest, CompilingTwiceIsAnError) {
  Sequential model(strategy_->EnterScope());
  AddLayers(&model);
  ASSERT_OK(model.Compile(ForClasses()));
  EXPECT_THAT(model.Compile(ForClasses()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("compiled before")));
}

TEST_F(SequentialTest, DataThatDoesNotFitTheModelIsRefusedWithBothShapes) {
  Sequential model(strategy_->EnterScope());
  model.Input({5});
  model.Add(Dense(2));
  ASSERT_OK(model.Compile(ForClasses()));
  EXPECT_THAT(model.Fit(data_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("[3]"), HasSubstr("[5]"))));
}

}  // namespace
}  // namespace lockstep

#include "tools/progress_view.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trainer.pb.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::JobEvent Begin() {
  v1::JobEvent event;
  event.mutable_fit_begin()->set_epochs(2);
  event.mutable_fit_begin()->set_world_size(1);
  event.mutable_fit_begin()->set_global_batch(4);
  event.mutable_fit_begin()->add_shares(4);
  return event;
}

v1::JobEvent Step(int64_t epoch, int64_t step) {
  v1::JobEvent event;
  event.mutable_progress()->set_epoch(epoch);
  event.mutable_progress()->set_step(step);
  event.mutable_progress()->set_steps_per_epoch(10);
  return event;
}

v1::JobEvent End(int64_t epoch) {
  v1::JobEvent event;
  event.mutable_epoch_end()->set_epoch(epoch);
  event.mutable_epoch_end()->set_epochs(2);
  event.mutable_epoch_end()->set_steps(10);
  return event;
}

v1::JobEvent State(v1::JobState state, const std::string& error = "") {
  v1::JobEvent event;
  event.mutable_state()->set_state(state);
  event.mutable_state()->set_error(error);
  return event;
}

v1::JobEvent Message(const std::string& message) {
  v1::JobEvent event;
  event.set_message(message);
  return event;
}

v1::JobEvent Summary() {
  v1::JobEvent event;
  event.mutable_summary()->set_epochs(2);
  event.mutable_summary()->set_steps(20);
  event.mutable_summary()->set_parameter_hash("00ff");
  event.mutable_summary()->add_ranks()->set_address("node:5300");
  return event;
}

ProgressView TerminalView() { return ProgressView({/*terminal=*/true, /*width=*/60}); }

TEST(ProgressViewTest, RewritesOneLinePerEpochOnATerminal) {
  ProgressView view = TerminalView();
  view.Show(Begin());
  EXPECT_THAT(view.Show(Step(1, 1)), StartsWith("Epoch 1/2\n\r 1/10 [==>..."));
  EXPECT_THAT(view.Show(Step(1, 2)), StartsWith("\r 2/10 [=====>..."));
  const std::string end = view.Show(End(1));
  EXPECT_THAT(end, StartsWith("\r10/10 [="));
  EXPECT_EQ(end.back(), '\n');
  EXPECT_THAT(view.Show(Step(2, 1)), StartsWith("Epoch 2/2\n\r 1/10"));
}

TEST(ProgressViewTest, ClearsWhatALongerLineLeft) {
  ProgressView view = TerminalView();
  EXPECT_THAT(view.Show(Step(1, 1)), HasSubstr("rows/s\x1b[K"));
}

TEST(ProgressViewTest, HeadsAnEpochWhoseProgressWasMissed) {
  ProgressView view = TerminalView();
  EXPECT_THAT(view.Show(End(1)), StartsWith("Epoch 1/2\n\r10/10"));
}

TEST(ProgressViewTest, IgnoresProgressThatComesAfterTheEndOfItsEpoch) {
  ProgressView view = TerminalView();
  view.Show(End(1));
  EXPECT_EQ(view.Show(Step(1, 10)), "");
}

TEST(ProgressViewTest, MessagesDoNotMixWithTheOpenLine) {
  ProgressView view = TerminalView();
  view.Show(Step(1, 1));
  EXPECT_EQ(view.Show(Message("hello")), "\nhello\n");
  EXPECT_EQ(view.Show(Message("again")), "again\n");
}

TEST(ProgressViewTest, ClosesTheOpenLineOnce) {
  ProgressView view = TerminalView();
  view.Show(Step(1, 1));
  EXPECT_EQ(view.Close(), "\n");
  EXPECT_EQ(view.Close(), "");
}

TEST(ProgressViewTest, LogsHaveOneLinePerEpochAndNoControlCharacters) {
  ProgressView view({/*terminal=*/false, /*width=*/80});
  std::string log = view.Show(Begin());
  for (const int64_t epoch : {1, 2}) {
    for (const int64_t step : {1, 2, 3}) log += view.Show(Step(epoch, step));
    log += view.Show(End(epoch));
  }
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3);
  EXPECT_EQ(log.find_first_of("\r\x1b"), std::string::npos);
  EXPECT_THAT(log, HasSubstr("global batch 4 = 4 over 1 rank,"));
  EXPECT_THAT(log, HasSubstr("\nEpoch 2/2 - "));
}

TEST(ProgressViewTest, AFailureBeginsWithItsRootCause) {
  ProgressView view = TerminalView();
  view.Show(Step(1, 1));
  EXPECT_EQ(view.Show(Summary()), "");
  EXPECT_THAT(view.Show(State(v1::FAILED, "rank 1 was lost at step 7")),
              StartsWith("\nFAILED: rank 1 was lost at step 7\nrank  address"));
}

TEST(ProgressViewTest, SuccessEndsWithTheParametersAndWhereTheTimeWent) {
  ProgressView view = TerminalView();
  view.Show(Summary());
  const std::string text = view.Show(State(v1::SUCCEEDED));
  EXPECT_THAT(text, StartsWith("SUCCEEDED: 2 epochs, 20 steps"));
  EXPECT_THAT(text, HasSubstr("parameters 00ff\nrank  address"));
}

TEST(ProgressViewTest, SuccessTellsWhatCheckpointsCost) {
  ProgressView view = TerminalView();
  v1::JobEvent event = Summary();
  event.mutable_summary()->set_checkpoints(9);
  event.mutable_summary()->set_checkpoint_stall_seconds(1.126);
  view.Show(event);
  EXPECT_THAT(view.Show(State(v1::SUCCEEDED)),
              HasSubstr("parameters 00ff\n9 checkpoints; training stood still for 1.13 s\nrank  address"));
}

TEST(ProgressViewTest, EvaluationShowsMetricsToTheLastDigit) {
  ProgressView view = TerminalView();
  v1::JobEvent event;
  event.mutable_summary()->set_evaluated_rows(1000);
  v1::NamedValue* metric = event.mutable_summary()->add_metrics();
  metric->set_name("loss");
  metric->set_value(0.1);
  view.Show(event);
  const std::string text = view.Show(State(v1::SUCCEEDED));
  EXPECT_THAT(text, HasSubstr("1000 rows"));
  EXPECT_THAT(text, HasSubstr("loss: 0.10000000000000001\n"));
}

}  // namespace
}  // namespace lockstep

#include "tools/job_json.h"

#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "proto/trainer.pb.h"

namespace lockstep {
namespace {

using nlohmann::json;

template <typename Message>
void AddMetric(Message* message, const char* name, double value) {
  v1::NamedValue* metric = message->add_metrics();
  metric->set_name(name);
  metric->set_value(value);
}

v1::JobSummary MakeSummary() {
  v1::JobSummary summary;
  summary.set_state(v1::SUCCEEDED);
  summary.set_epochs(2);
  summary.set_steps(96);
  summary.set_world_size(1);
  summary.set_rows_per_second(1234.5);
  summary.set_seconds(1.0 / 3);
  summary.set_parameter_hash("0123456789abcdef");
  summary.set_checkpoints(2);
  summary.set_checkpoint_stall_seconds(0.25);
  summary.set_checkpoint_write_seconds(1.5);
  AddMetric(&summary, "loss", 0.1);
  AddMetric(&summary, "val_loss", 0.2);
  for (const double loss : {0.3, 0.1}) AddMetric(summary.add_history(), "loss", loss);
  v1::RankStats* rank = summary.add_ranks();
  rank->set_address("node:5300");
  rank->set_input_seconds(0.5);
  rank->set_rows(1000);
  return summary;
}

TEST(SummaryJsonTest, HasAllFieldsThatScriptsReadFrom) {
  EXPECT_EQ(json::parse(SummaryJson(MakeSummary())), json::parse(R"({
    "state": "SUCCEEDED", "error": "", "epochs": 2, "steps": 96, "world_size": 1, "rows_per_second": 1234.5,
    "seconds": 0.3333333333333333, "parameter_hash": "0123456789abcdef",
    "checkpoints": 2, "checkpoint_stall_seconds": 0.25, "checkpoint_write_seconds": 1.5,
    "metrics": {"loss": 0.1, "val_loss": 0.2}, "history": [{"loss": 0.3}, {"loss": 0.1}],
    "ranks": [{"rank": 0, "address": "node:5300", "input_seconds": 0.5, "compute_seconds": 0.0,
               "communication_seconds": 0.0, "exposed_communication_seconds": 0.0, "rows": 1000}]})"));
}

TEST(SummaryJsonTest, IsOneLine) {
  v1::JobSummary summary = MakeSummary();
  summary.set_error("first\nsecond");
  EXPECT_EQ(SummaryJson(summary).find('\n'), std::string::npos);
}

TEST(SummaryJsonTest, NumbersComeBackBitForBit) {
  v1::JobSummary summary = MakeSummary();
  for (const double value : {0.1 + 0.2, 1e-300, 123456789.123456789, std::nextafter(1.0, 2.0)}) {
    summary.set_seconds(value);
    EXPECT_EQ(json::parse(SummaryJson(summary))["seconds"].get<double>(), value);
  }
}

TEST(SummaryJsonTest, WhatIsNotFiniteIsNull) {
  v1::JobSummary summary = MakeSummary();
  summary.mutable_metrics(0)->set_value(std::numeric_limits<double>::quiet_NaN());
  summary.mutable_metrics(1)->set_value(std::numeric_limits<double>::infinity());
  const json parsed = json::parse(SummaryJson(summary));
  EXPECT_TRUE(parsed["metrics"]["loss"].is_null());
  EXPECT_TRUE(parsed["metrics"]["val_loss"].is_null());
}

TEST(SummaryJsonTest, TextThatIsNotUtf8StillMakesJson) {
  v1::JobSummary summary = MakeSummary();
  summary.set_error("bad \xff byte");
  EXPECT_EQ(json::parse(SummaryJson(summary))["error"], "bad \xEF\xBF\xBD byte");
}

TEST(SummaryJsonTest, EvaluatedRowsAppearWhereThereAreSome) {
  v1::JobSummary summary = MakeSummary();
  summary.set_evaluated_rows(10000);
  EXPECT_EQ(json::parse(SummaryJson(summary))["evaluated_rows"], 10000);
}

TEST(EventJsonTest, NamesTheKindOfEveryEvent) {
  v1::JobEvent event;
  event.set_sequence(7);
  event.set_unix_ms(1234);
  event.mutable_fit_begin()->add_shares(64);
  EXPECT_EQ(json::parse(EventJson(event))["event"], "fit_begin");
  EXPECT_EQ(json::parse(EventJson(event))["shares"], json::parse("[64]"));
  event.mutable_progress()->set_step(3);
  EXPECT_EQ(json::parse(EventJson(event))["event"], "progress");
  EXPECT_EQ(json::parse(EventJson(event))["step"], 3);
  AddMetric(event.mutable_epoch_end(), "val_loss", 0.5);
  EXPECT_EQ(json::parse(EventJson(event))["event"], "epoch_end");
  EXPECT_EQ(json::parse(EventJson(event))["metrics"]["val_loss"], 0.5);
  event.mutable_state()->set_state(v1::RUNNING);
  EXPECT_EQ(json::parse(EventJson(event)), json::parse(R"({"event": "state", "sequence": 7, "unix_ms": 1234,
                                                            "state": "RUNNING", "error": ""})"));
  event.set_message("hello");
  EXPECT_EQ(json::parse(EventJson(event))["message"], "hello");
  *event.mutable_summary() = MakeSummary();
  EXPECT_EQ(json::parse(EventJson(event))["event"], "summary");
  EXPECT_EQ(json::parse(EventJson(event))["steps"], 96);
}

TEST(SubmittedJsonTest, HasTheJobAndTheWarnings) {
  v1::SubmitResponse response;
  response.set_job_id("job-1");
  response.add_warnings("no seed");
  EXPECT_EQ(json::parse(SubmittedJson(response)),
            json::parse(R"({"event": "submitted", "job": "job-1", "warnings": ["no seed"]})"));
}

TEST(ClusterJsonTest, IsCompleteOnlyIfTheChiefSaysSoOfAllRanks) {
  v1::Cluster cluster;
  EXPECT_EQ(json::parse(ClusterJson(cluster))["complete"], false);
  cluster.set_exchange("messages");
  for (const char* row : {"-t", "t-"}) cluster.add_paths(row);
  EXPECT_EQ(json::parse(ClusterJson(cluster))["exchange"], "messages");
  EXPECT_EQ(json::parse(ClusterJson(cluster))["paths"], json({"-t", "t-"}));
  cluster.add_members()->set_state("joined");
  EXPECT_EQ(json::parse(ClusterJson(cluster))["complete"], true);
  cluster.set_error("rank 0 cannot be reached");
  EXPECT_EQ(json::parse(ClusterJson(cluster))["complete"], false);
  cluster.clear_error();
  cluster.add_members()->set_state("missing");
  EXPECT_EQ(json::parse(ClusterJson(cluster))["complete"], false);
}

}  // namespace
}  // namespace lockstep

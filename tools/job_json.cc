#include "tools/job_json.h"

#include <utility>

#include "nlohmann/json.hpp"
#include "proto/trainer.pb.h"
#include "tools/cluster_table.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Text from elsewhere may not be UTF-8: what is not becomes U+FFFD.
std::string OneLine(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <typename Metrics>
Json MetricsJson(const Metrics& metrics) {
  Json json = Json::object();
  for (const v1::NamedValue& metric : metrics) json[metric.name()] = metric.value();
  return json;
}

Json RankJson(const v1::RankStats& rank) {
  return {{"rank", rank.rank()},
          {"address", rank.address()},
          {"input_seconds", rank.input_seconds()},
          {"compute_seconds", rank.compute_seconds()},
          {"communication_seconds", rank.communication_seconds()},
          {"exposed_communication_seconds", rank.exposed_communication_seconds()},
          {"rows", rank.rows()}};
}

Json ToJson(const v1::JobSummary& summary) {
  Json json = {{"state", v1::JobState_Name(summary.state())},
               {"error", summary.error()},
               {"epochs", summary.epochs()},
               {"steps", summary.steps()},
               {"world_size", summary.world_size()},
               {"rows_per_second", summary.rows_per_second()},
               {"seconds", summary.seconds()},
               {"parameter_hash", summary.parameter_hash()},
               {"checkpoints", summary.checkpoints()},
               {"checkpoint_stall_seconds", summary.checkpoint_stall_seconds()},
               {"checkpoint_write_seconds", summary.checkpoint_write_seconds()},
               {"metrics", MetricsJson(summary.metrics())},
               {"history", Json::array()},
               {"ranks", Json::array()}};
  for (const v1::JobSummary::EpochMetrics& epoch : summary.history())
    json["history"].push_back(MetricsJson(epoch.metrics()));
  for (const v1::RankStats& rank : summary.ranks()) json["ranks"].push_back(RankJson(rank));
  if (summary.evaluated_rows() > 0) json["evaluated_rows"] = summary.evaluated_rows();
  return json;
}

Json ToJson(const v1::FitBegin& begin) {
  return {{"world_size", begin.world_size()},
          {"global_batch", begin.global_batch()},
          {"shares", std::vector<int64_t>(begin.shares().begin(), begin.shares().end())},
          {"epochs", begin.epochs()},
          {"steps_per_epoch", begin.steps_per_epoch()},
          {"train_rows", begin.train_rows()},
          {"validation_rows", begin.validation_rows()},
          {"parameters", begin.parameters()},
          {"first_epoch", begin.first_epoch()},
          {"seed", begin.seed()}};
}

Json ToJson(const v1::Progress& progress) {
  return {{"epoch", progress.epoch()},
          {"step", progress.step()},
          {"steps_per_epoch", progress.steps_per_epoch()},
          {"global_step", progress.global_step()},
          {"metrics", MetricsJson(progress.metrics())},
          {"rows_per_second", progress.rows_per_second()},
          {"eta_seconds", progress.eta_seconds()}};
}

Json ToJson(const v1::EpochEnd& end) {
  return {{"epoch", end.epoch()},
          {"epochs", end.epochs()},
          {"steps", end.steps()},
          {"metrics", MetricsJson(end.metrics())},
          {"seconds", end.seconds()},
          {"rows_per_second", end.rows_per_second()},
          {"learning_rate", end.learning_rate()},
          {"parameter_hash", end.parameter_hash()}};
}

// The kind's name and its fields.
std::pair<const char*, Json> KindJson(const v1::JobEvent& event) {
  switch (event.kind_case()) {
    case v1::JobEvent::kState:
      return {"state",
              {{"state", v1::JobState_Name(event.state().state())}, {"error", event.state().error()}}};
    case v1::JobEvent::kFitBegin:
      return {"fit_begin", ToJson(event.fit_begin())};
    case v1::JobEvent::kProgress:
      return {"progress", ToJson(event.progress())};
    case v1::JobEvent::kEpochEnd:
      return {"epoch_end", ToJson(event.epoch_end())};
    case v1::JobEvent::kMessage:
      return {"message", {{"message", event.message()}}};
    case v1::JobEvent::kSummary:
      return {"summary", ToJson(event.summary())};
    case v1::JobEvent::KIND_NOT_SET:
      break;
  }
  return {"unknown", Json::object()};
}

Json ToJson(const v1::Cluster::Member& member) {
  return {{"rank", member.rank()},         {"address", member.address()}, {"task", member.task()},
          {"state", member.state()},       {"detail", member.detail()},   {"version", member.version()},
          {"build_id", member.build_id()}, {"pid", member.pid()},         {"hostname", member.hostname()},
          {"is_chief", member.is_chief()}};
}

}  // namespace

std::string SummaryJson(const v1::JobSummary& summary) { return OneLine(ToJson(summary)); }

std::string EventJson(const v1::JobEvent& event) {
  auto [kind, fields] = KindJson(event);
  Json json = {{"event", kind}, {"sequence", event.sequence()}, {"unix_ms", event.unix_ms()}};
  json.update(fields);
  return OneLine(json);
}

std::string SubmittedJson(const v1::SubmitResponse& response) {
  return OneLine(
      {{"event", "submitted"},
       {"job", response.job_id()},
       {"warnings", std::vector<std::string>(response.warnings().begin(), response.warnings().end())}});
}

std::string JobJson(const v1::Job& job) {
  return OneLine({{"id", job.id()},
                  {"name", job.name()},
                  {"state", v1::JobState_Name(job.state())},
                  {"error", job.error()},
                  {"created_unix_ms", job.created_unix_ms()},
                  {"summary", ToJson(job.summary())}});
}

std::string ClusterJson(const v1::Cluster& cluster) {
  Json json = {{"complete", IsComplete(cluster)},
               {"error", cluster.error()},
               {"members", Json::array()},
               {"exchange", cluster.exchange()},
               {"paths", Json::array()}};
  for (const v1::Cluster::Member& member : cluster.members()) json["members"].push_back(ToJson(member));
  for (const std::string& row : cluster.paths()) json["paths"].push_back(row);
  return OneLine(json);
}

}  // namespace lockstep

#include "tools/job_plan_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/shape_text.h"
#include "tools/progress_line.h"
#include "tools/text_table.h"

namespace lockstep {
namespace {

std::string BytesText(int64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  if (bytes < 1 << 10) return absl::StrFormat("%d B", bytes);
  if (bytes < 1 << 20) return absl::StrFormat("%.1f KiB", amount / (1 << 10));
  if (bytes < 1 << 30) return absl::StrFormat("%.1f MiB", amount / (1 << 20));
  return absl::StrFormat("%.1f GiB", amount / (1 << 30));
}

std::string LayersText(const JobPlan& plan) {
  constexpr auto kRight = TextTable::Align::kRight;
  TextTable table(
      {{"layer"}, {"kind"}, {"output shape"}, {"parameters", kRight}, {"activations per row", kRight}});
  for (const LayerSummary& layer : plan.layers) {
    table.AddRow({layer.name, layer.kind, ShapeToString(layer.output_shape), absl::StrCat(layer.parameters),
                  BytesText(layer.activation_bytes_per_row)});
  }
  return absl::StrFormat("%s\nTotal parameters: %d (%s)\n", table.ToString(), plan.parameters,
                         BytesText(plan.parameters * static_cast<int64_t>(sizeof(float))));
}

std::string MemoryText(const MemoryPlan& memory) {
  std::string text = absl::StrCat("Memory per rank: ", BytesText(memory.parameters), " parameters + ",
                                  BytesText(memory.gradients), " gradients");
  if (memory.slots > 0)
    absl::StrAppend(&text, " + ", BytesText(memory.slots), " optimizer (",
                    absl::StrJoin(memory.slot_names, ", "), ")");
  return absl::StrCat(text, " + about ", BytesText(memory.activations),
                      " activations = ", BytesText(memory.total()), "\n");
}

std::string BatchText(const JobPlan& plan) {
  if (plan.global_batch == 0) return "";
  return absl::StrCat("Batch: global ", plan.global_batch, " = ", SharesText(plan.shares), " over ",
                      plan.shares.size(), plan.shares.size() == 1 ? " rank\n" : " ranks\n");
}

std::string RowsText(const char* what, const DatasetInfo& info) {
  const char* labels = info.label_kind == LabelKind::kClass ? "a class" : "values";
  return absl::StrFormat("%s: %d rows of %s, labelled by %s\n", what, info.rows,
                         ShapeToString(info.feature_shape), labels);
}

std::string DataText(const JobPlan& plan) {
  if (!plan.data_status.ok())
    return absl::StrCat("Data: NOT CHECKED, not reachable from here: ", plan.data_status.message(), "\n");
  std::string text;
  if (plan.train) absl::StrAppend(&text, RowsText("Training data", *plan.train));
  if (plan.validation) absl::StrAppend(&text, RowsText("Validation data", *plan.validation));
  return text;
}

std::string WeightsText(const JobPlan& plan) {
  if (plan.weights_status.ok()) return "";
  return absl::StrCat(
      "Initial weights: NOT CHECKED, not reachable from here: ", plan.weights_status.message(), "\n");
}

std::string StepsText(const JobPlan& plan) {
  if (plan.epochs == 0) return "";
  if (plan.steps_per_epoch == 0)
    return absl::StrCat("Steps: ", plan.epochs,
                        " epochs; steps per epoch follow from the rows of all ranks\n");
  std::string text = absl::StrFormat("Steps: %d per epoch, %d in %d epochs", plan.steps_per_epoch,
                                     plan.steps_per_epoch * plan.epochs, plan.epochs);
  const int64_t last = plan.train->rows - (plan.steps_per_epoch - 1) * plan.global_batch;
  if (last > 0 && last < plan.global_batch)
    absl::StrAppend(&text, "; the last one of an epoch has ", last, " rows");
  return text + "\n";
}

}  // namespace

std::string JobPlanText(const JobPlan& plan) {
  return absl::StrCat("Job: ", plan.name, "\n\n", LayersText(plan), MemoryText(plan.memory), BatchText(plan),
                      DataText(plan), WeightsText(plan), StepsText(plan));
}

}  // namespace lockstep

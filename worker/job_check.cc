#include "worker/job_check.h"

#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "collective/transport/striped_transport.h"
#include "data/open_dataset.h"
#include "model/metric.h"
#include "model/network.h"
#include "worker/compiled_model.h"
#include "worker/message_check.h"
#include "worker/training_callbacks.h"

namespace lockstep {
namespace {

// More is taken for a mistake; products of them stay far from overflow.
constexpr int64_t kMostEpochs = 1'000'000'000;
constexpr int64_t kMostRows = 1'000'000'000;
constexpr double kMostRejoinSeconds = 1e7;  // four months
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostPrefetch = 1024;
constexpr size_t kMostNameBytes = 200;

absl::Status Invalid(absl::string_view field, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", problem));
}

absl::Status CheckAtLeast(absl::string_view field, double value, double least) {
  if (value >= least) return absl::OkStatus();
  return Invalid(field, absl::StrCat("is ", value, ", must be at least ", least));
}

absl::Status CheckBetween(absl::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return Invalid(field, absl::StrCat("is ", value, ", must be between ", least, " and ", most));
}

absl::Status CheckFitFields(const v1::Fit& fit) {
  RETURN_IF_ERROR(CheckBetween("fit.epochs", fit.epochs(), 1, kMostEpochs));
  RETURN_IF_ERROR(CheckBetween("fit.batch_size", fit.batch_size(), 0, kMostRows));
  RETURN_IF_ERROR(CheckBetween("fit.per_worker_batch_size", fit.per_worker_batch_size(), 0, kMostRows));
  if ((fit.batch_size() > 0) == (fit.per_worker_batch_size() > 0)) {
    return Invalid(
        "fit.batch_size",
        "(rows of all ranks per step) or fit.per_worker_batch_size (rows of each) must be set, one of the "
        "two");
  }
  RETURN_IF_ERROR(CheckBetween("fit.steps_per_epoch", fit.steps_per_epoch(), 0, kMostRows));
  RETURN_IF_ERROR(CheckBetween("fit.validation_batch_size", fit.validation_batch_size(), 0, kMostRows));
  return absl::OkStatus();
}

absl::Status CheckGiven(absl::string_view dataset, absl::string_view field, absl::string_view value) {
  return value.empty() ? Invalid(absl::StrCat(dataset, field), "is required") : absl::OkStatus();
}

absl::Status CheckColumns(const std::string& field, const v1::Csv& csv) {
  if (csv.paths().empty()) return Invalid(absl::StrCat(field, ".paths"), "is required");
  RETURN_IF_ERROR(CheckGiven(field, ".label", csv.label()));
  std::set<absl::string_view> seen;
  for (const std::string& name : csv.features()) {
    if (name == csv.label())
      return Invalid(absl::StrCat(field, ".features"), absl::StrCat("has the label ", Quoted(name)));
    if (!seen.insert(name).second)
      return Invalid(absl::StrCat(field, ".features"), absl::StrCat("has ", Quoted(name), " twice"));
  }
  return absl::OkStatus();
}

// What can be wrong with a dataset before a file is opened.
absl::Status CheckSource(absl::string_view field, const v1::Dataset& dataset) {
  switch (dataset.source_case()) {
    case v1::Dataset::SOURCE_NOT_SET:
      return Invalid(field, "has no source: choose one of synthetic, npy, npz, idx and csv");
    case v1::Dataset::kSynthetic: {
      const absl::Status opened = OpenDataset(dataset, OpenOptions()).status();
      if (opened.ok()) return opened;
      return absl::InvalidArgumentError(absl::StrCat(field, ".", opened.message()));
    }
    case v1::Dataset::kCsv:
      return CheckColumns(absl::StrCat(field, ".csv"), dataset.csv());
    case v1::Dataset::kNpy:
      RETURN_IF_ERROR(CheckGiven(field, ".npy.features", dataset.npy().features()));
      return CheckGiven(field, ".npy.labels", dataset.npy().labels());
    case v1::Dataset::kNpz:
      return CheckGiven(field, ".npz.path", dataset.npz().path());
    case v1::Dataset::kIdx:
      RETURN_IF_ERROR(CheckGiven(field, ".idx.images", dataset.idx().images()));
      return CheckGiven(field, ".idx.labels", dataset.idx().labels());
  }
  return absl::OkStatus();
}

absl::Status CheckDataFields(const v1::JobSpec& spec) {
  const v1::Data& data = spec.data();
  const bool fit = spec.task() == v1::JobSpec::TASK_UNSPECIFIED || spec.task() == v1::JobSpec::FIT;
  if (fit && !data.has_train()) return Invalid("data.train", "is required");
  if (!data.has_train() && !data.has_validation()) return Invalid("data", "needs train or validation");
  if (data.has_train()) RETURN_IF_ERROR(CheckSource("data.train", data.train()));
  if (data.has_validation()) RETURN_IF_ERROR(CheckSource("data.validation", data.validation()));
  if (!(data.validation_split() >= 0 && data.validation_split() < 1)) {
    return Invalid("data.validation_split",
                   absl::StrCat("is ", data.validation_split(), ", must be in [0, 1)"));
  }
  if (data.validation_split() > 0 && data.has_validation())
    return Invalid("data.validation_split", "and data.validation cannot both be set");
  if (data.validation_split() > 0 && !data.has_train())
    return Invalid("data.validation_split", "needs data.train");
  if (spec.task() == v1::JobSpec::PREDICT &&
      (data.train().shard() == v1::Dataset::FILE || data.validation().shard() == v1::Dataset::FILE)) {
    return Invalid("data", "with shard: FILE has no row order over all ranks, which task: PREDICT needs");
  }
  for (const v1::Dataset* dataset : {&data.train(), &data.validation()}) {
    if (!dataset->has_prefetch()) continue;
    RETURN_IF_ERROR(
        CheckBetween(dataset == &data.train() ? "data.train.prefetch" : "data.validation.prefetch",
                     dataset->prefetch(), 1, kMostPrefetch));
  }
  return absl::OkStatus();
}

absl::Status CheckResources(const v1::JobSpec& spec) {
  const v1::Threading& threading = spec.threading();
  RETURN_IF_ERROR(CheckBetween("threading.intra_op_threads", threading.intra_op_threads(), 0, kMostThreads));
  RETURN_IF_ERROR(CheckBetween("threading.inter_op_threads", threading.inter_op_threads(), 0, kMostThreads));
  const v1::CommunicationOptions& communication = spec.communication_options();
  if (communication.bytes_per_pack() != 0)
    RETURN_IF_ERROR(CheckAtLeast("communication_options.bytes_per_pack", communication.bytes_per_pack(), 4));
  if (communication.implementation() == v1::CommunicationOptions::RING &&
      communication.compression() > v1::CommunicationOptions::NONE) {
    return absl::InvalidArgumentError(absl::StrCat(
        "communication_options.compression ",
        v1::CommunicationOptions::Compression_Name(communication.compression()),
        " does not go with implementation RING, which passes partial sums on; AUTO and GRPC can do it"));
  }
  RETURN_IF_ERROR(
      CheckBetween("communication_options.connections", communication.connections(), 0, kMostLanes));
  return CheckAtLeast("communication_options.timeout_seconds", communication.timeout_seconds(), 0);
}

// A path that leaves the root whatever the root is, or is the root. The daemon checks the rest when it knows
// its root.
absl::Status CheckInside(absl::string_view field, absl::string_view path, absl::string_view root) {
  if (path.empty()) return absl::OkStatus();
  int depth = 0;
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == "..")
      --depth;
    else if (part != ".")
      ++depth;
    if (depth < 0) return Invalid(field, absl::StrCat("is ", Quoted(path), ", which lies outside of ", root));
  }
  if (depth == 0)
    return Invalid(field, absl::StrCat("is ", Quoted(path), ", which is no place below ", root));
  return absl::OkStatus();
}

absl::Status CheckCheckpointFields(const v1::JobSpec& spec) {
  const v1::Checkpoint& checkpoint = spec.checkpoint();
  const bool reads_one = spec.task() == v1::JobSpec::EVALUATE || spec.task() == v1::JobSpec::PREDICT;
  if (reads_one && checkpoint.directory().empty())
    return Invalid("checkpoint.directory", "is required: it names the checkpoint whose model is used");
  if (spec.has_checkpoint() && checkpoint.directory().empty())
    return Invalid("checkpoint.directory", "is required where `checkpoint` is given");
  RETURN_IF_ERROR(CheckAtLeast("checkpoint.every_epochs", checkpoint.every_epochs(), 0));
  RETURN_IF_ERROR(CheckAtLeast("checkpoint.every_steps", checkpoint.every_steps(), 0));
  if (checkpoint.has_keep()) RETURN_IF_ERROR(CheckAtLeast("checkpoint.keep", checkpoint.keep(), 1));
  if (spec.task() == v1::JobSpec::PREDICT && spec.predict().output().empty())
    return Invalid("predict.output", "is required for task: PREDICT");
  RETURN_IF_ERROR(CheckInside("checkpoint.directory", checkpoint.directory(), "--output_root"));
  RETURN_IF_ERROR(CheckInside("initial_weights", spec.initial_weights(), "--data_root"));
  RETURN_IF_ERROR(CheckInside("predict.output", spec.predict().output(), "--output_root"));
  if (absl::EndsWith(spec.predict().output(), "/")) {
    return Invalid("predict.output",
                   absl::StrCat("is ", Quoted(spec.predict().output()), ", a directory, not a file"));
  }
  return absl::OkStatus();
}

absl::Status CheckRecoveryFields(const v1::JobSpec& spec) {
  if (spec.on_failure() == v1::JobSpec::CONTINUE) {
    return Invalid("on_failure", "is CONTINUE, which this version cannot do yet: choose WAIT or FAIL");
  }
  if (!(spec.rejoin_timeout_seconds() >= 0 && spec.rejoin_timeout_seconds() <= kMostRejoinSeconds)) {
    return Invalid("rejoin_timeout_seconds", absl::StrCat("is ", spec.rejoin_timeout_seconds(),
                                                          ", must be in [0, ", kMostRejoinSeconds, "]"));
  }
  return CheckAtLeast("min_workers", spec.min_workers(), 0);
}

// Monitors must be among the metrics, numbers of callbacks in range.
absl::Status CheckCallbacks(const v1::JobSpec& spec, const CompiledModel& compiled) {
  const bool validates = spec.data().has_validation() || spec.data().validation_split() > 0;
  const auto names = MonitorNames(compiled, validates ? Validation::kEachEpoch : Validation::kNone);
  return TrainingCallbacks::Create(spec.fit(), spec.checkpoint(), names).status();
}

// Of k classes the right one is always among the best k.
std::vector<std::string> TopKWarnings(const v1::JobSpec& spec) {
  const int k = spec.compile().has_top_k() ? spec.compile().top_k() : kDefaultTopK;
  const absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(spec.model());
  if (!network.ok() || (*network)->output_shape().empty() || (*network)->output_shape().back() > k) return {};
  std::vector<std::string> warnings;
  for (const std::string& metric : spec.compile().metrics()) {
    if (!absl::StrContains(metric, "top_k")) continue;
    warnings.push_back(absl::StrCat("compile.top_k is ", k,
                                    spec.compile().has_top_k() ? "" : " (the default)", " and the model has ",
                                    (*network)->output_shape().back(), " classes: ", metric, " is always 1"));
  }
  return warnings;
}

}  // namespace

absl::Status CheckJob(const v1::JobSpec& spec) {
  RETURN_IF_ERROR(CheckWellFormed(spec));
  if (spec.name().size() > kMostNameBytes)
    return Invalid(
        "name", absl::StrCat("has ", spec.name().size(), " bytes, at most ", kMostNameBytes, " are allowed"));
  if (!spec.has_model()) return Invalid("model", "is required");
  if (!spec.has_compile()) return Invalid("compile", "is required");
  if (!spec.has_data()) return Invalid("data", "is required");
  const bool fit = spec.task() == v1::JobSpec::TASK_UNSPECIFIED || spec.task() == v1::JobSpec::FIT;
  if (fit && !spec.has_fit()) return Invalid("fit", "is required");
  if (fit) RETURN_IF_ERROR(CheckFitFields(spec.fit()));
  RETURN_IF_ERROR(CheckDataFields(spec));
  RETURN_IF_ERROR(CheckResources(spec));
  RETURN_IF_ERROR(CheckCheckpointFields(spec));
  RETURN_IF_ERROR(CheckRecoveryFields(spec));
  ASSIGN_OR_RETURN(const CompiledModel compiled, CompileModel(spec.model(), spec.compile()));
  return fit ? CheckCallbacks(spec, compiled) : absl::OkStatus();
}

std::vector<std::string> JobWarnings(const v1::JobSpec& spec) {
  std::vector<std::string> warnings = TopKWarnings(spec);
  if (spec.has_fit() && !spec.fit().has_seed())
    warnings.push_back("fit.seed is not set: two runs of this job give different results");
  if (spec.has_fit() && !spec.has_checkpoint())
    warnings.push_back("checkpoint is not set: the trained model is not saved");
  return warnings;
}

}  // namespace lockstep

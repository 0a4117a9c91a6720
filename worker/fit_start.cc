#include "worker/fit_start.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/status_macros.h"
#include "worker/agreement.h"
#include "worker/replica_state.h"

namespace lockstep {
namespace {

// For error messages, which are one line.
std::string LayoutLine(const ParameterLayout& layout) {
  std::string parameters = layout.ToString();
  absl::StripTrailingAsciiWhitespace(&parameters);
  return absl::StrCat("{ ", absl::StrReplaceAll(parameters, {{"\n", ", "}}), " }");
}

std::string RowsOf(const v1::Dataset& source, const std::shared_ptr<const Dataset>& dataset) {
  if (source.shard() == v1::Dataset::FILE) return "its own";
  return absl::StrCat(dataset != nullptr ? dataset->info().rows : 0);
}

// A hash of some rows, spread evenly: ranks that share rows out must read the same ones. Rows that cannot be
// read are the affair of the rank that owns them.
std::string SampleOf(const v1::Dataset& source, const std::shared_ptr<const Dataset>& dataset) {
  if (source.shard() == v1::Dataset::FILE || dataset == nullptr) return "its own";
  constexpr int64_t kMostRows = 16;
  const DatasetInfo& info = dataset->info();
  std::vector<float> features(info.feature_elements()), values(info.label_elements());
  int32_t label = 0;
  std::vector<uint64_t> hashes;
  const int64_t count = std::min(kMostRows, info.rows);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = count == 1 ? 0 : i * (info.rows - 1) / (count - 1);
    if (!dataset->Read({row}, features.data(), {&label, values.data()}).ok()) continue;
    hashes.push_back(Hash64(features.data(), features.size() * sizeof(float)));
    hashes.push_back(info.label_kind == LabelKind::kClass
                         ? static_cast<uint64_t>(label)
                         : Hash64(values.data(), values.size() * sizeof(float)));
  }
  return HashToHex(Hash64(hashes.data(), hashes.size() * sizeof(uint64_t)));
}

// Which rows are read in which order, but for the files: how those are called is each node's affair.
std::string OrderOf(v1::Dataset source) {
  source.clear_source();
  source.clear_prefetch();
  if (source.shard() == v1::Dataset::SHARD_UNSPECIFIED || source.shard() == v1::Dataset::AUTO)
    source.set_shard(v1::Dataset::DATA);
  return absl::StrCat("{ ", source.ShortDebugString(), " }");
}

std::string Braced(const google::protobuf::Message& message) {
  return absl::StrCat("{ ", message.ShortDebugString(), " }");
}

// Saving is collective (hashes are compared first), so its rhythm must agree; the rest is the chief's affair.
std::string SavingRhythm(const v1::Checkpoint& checkpoint) {
  if (checkpoint.directory().empty()) return "never";
  return absl::StrCat("every_epochs ", checkpoint.every_epochs(), " every_steps ", checkpoint.every_steps());
}

uint64_t DrawSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// On rank 0.
absl::StatusOr<v1::CheckpointManifest> ResumeOrInitialize(const v1::JobSpec& spec,
                                                          const StartOptions& options,
                                                          Checkpointer* checkpointer, Replica* replica) {
  ASSIGN_OR_RETURN(std::optional<v1::CheckpointManifest> resumed, checkpointer->Resume(replica));
  if (resumed.has_value()) return *std::move(resumed);
  v1::CheckpointManifest position;
  position.set_seed(spec.fit().has_seed() ? spec.fit().seed() : DrawSeed());
  replica->Initialize(position.seed());
  if (spec.initial_weights().empty()) return position;
  ASSIGN_OR_RETURN(const std::string path,
                   ResolveBelow(options.data_root, spec.initial_weights(), "initial_weights"));
  RETURN_IF_ERROR(LoadWeights(options.file_system, path, replica));
  return position;
}

absl::Status CheckPositionFits(const v1::CheckpointManifest& position, const v1::JobSpec& spec,
                               int64_t global_batch) {
  if (spec.fit().has_seed() && spec.fit().seed() != position.seed()) {
    return absl::FailedPreconditionError(
        absl::StrFormat("fit.seed is %d, but the checkpoint of step %d was trained with seed %d: use that "
                        "one, leave the field "
                        "out, or give another checkpoint.directory",
                        spec.fit().seed(), position.step(), position.seed()));
  }
  if (position.step_in_epoch() > 0 && position.global_batch() != global_batch) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the checkpoint of step %d lies within an epoch of %d rows per step, the job has %d: the rows that "
        "are "
        "left cannot be told. Resume with the same batch, or from a checkpoint at the end of an epoch",
        position.step(), position.global_batch(), global_batch));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AgreeOnFit(const v1::JobSpec& spec, const TrainingData& data, const Replica& replica,
                        Communicator* communicator) {
  const v1::Data& sources = spec.data();
  const v1::Dataset& validation = PassSource(spec);
  return CheckFingerprints(communicator,
                           {{"the model", LayoutLine(replica.network().layout())},
                            {"model, loss or optimizer", SpecHash(spec.model(), spec.compile())},
                            {"fit", Braced(spec.fit())},
                            {"communication_options", Braced(spec.communication_options())},
                            {"checkpoint", SavingRhythm(spec.checkpoint())},
                            {"data.train", OrderOf(sources.train())},
                            {"data.validation", OrderOf(validation)},
                            {"data.validation_split", absl::StrCat(sources.validation_split())},
                            {"rows of the training data", RowsOf(sources.train(), data.train)},
                            {"rows of the validation data", RowsOf(validation, data.validation)},
                            {"content of the training data", SampleOf(sources.train(), data.train)},
                            {"content of the validation data", SampleOf(validation, data.validation)}});
}

absl::Status AgreeOnPass(const v1::JobSpec& spec, const std::shared_ptr<const Dataset>& dataset,
                         const Replica& replica, Communicator* communicator) {
  const v1::Dataset& source = PassSource(spec);
  return CheckFingerprints(communicator, {{"the model", LayoutLine(replica.network().layout())},
                                          {"the data's order", OrderOf(source)},
                                          {"rows of the data", RowsOf(source, dataset)},
                                          {"content of the data", SampleOf(source, dataset)}});
}

absl::StatusOr<v1::CheckpointManifest> StartFit(const v1::JobSpec& spec, const StartOptions& options,
                                                Checkpointer* checkpointer, Replica* replica,
                                                Communicator* communicator) {
  v1::CheckpointManifest position;
  if (communicator->rank() == 0) {
    ASSIGN_OR_RETURN(position, ResumeOrInitialize(spec, options, checkpointer, replica));
  }
  ASSIGN_OR_RETURN(const std::string bytes, BroadcastString(communicator, position.SerializeAsString()));
  if (!position.ParseFromString(bytes))
    return absl::InternalError("rank 0 sent a position that does not parse");
  RETURN_IF_ERROR(BroadcastReplica(communicator, replica));

  const int64_t global_batch = GlobalBatch(spec.fit(), communicator->world_size());
  RETURN_IF_ERROR(CheckPositionFits(position, spec, global_batch));
  position.set_global_batch(global_batch);
  const std::string spec_hash = SpecHash(spec.model(), spec.compile());
  if (!position.spec_hash().empty() && position.spec_hash() != spec_hash) {
    options.listener->OnMessage(absl::StrCat("the checkpoint of step ", position.step(),
                                             " was written with another model or loss of the same shapes"));
  }
  position.set_spec_hash(spec_hash);
  RETURN_IF_ERROR(CheckHashes(communicator, replica->Hash(), "parameters", replica->step()));
  return position;
}

}  // namespace lockstep

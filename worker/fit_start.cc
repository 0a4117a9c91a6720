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
                                                          const std::string& job_id,
                                                          Checkpointer* checkpointer, Replica* replica) {
  ASSIGN_OR_RETURN(std::optional<v1::CheckpointManifest> resumed, checkpointer->Resume(job_id, replica));
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

// Each rank's, on every rank.
absl::StatusOr<std::vector<v1::FitStanding>> ExchangeStandings(const v1::FitStanding& own,
                                                               Communicator* communicator) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator->AllGather(own.SerializeAsString()));
  std::vector<v1::FitStanding> standings(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!standings[rank].ParseFromString(all[rank]))
      return absl::InternalError(absl::StrCat("rank ", rank, " sent a position that does not parse"));
  }
  return standings;
}

// Steps that were applied, then epochs: the end of an epoch applies none, but decides.
std::pair<int64_t, int64_t> Progress(const v1::FitStanding& standing) {
  if (!standing.has_position()) return {-1, -1};
  return {standing.position().step(), standing.position().epoch()};
}

// The rank that is ahead; of several the first that is live.
int SourceOf(const std::vector<v1::FitStanding>& standings) {
  const auto key = [](const v1::FitStanding& standing) {
    return std::make_pair(Progress(standing), standing.live());
  };
  const auto source = std::max_element(
      standings.begin(), standings.end(),
      [&key](const v1::FitStanding& a, const v1::FitStanding& b) { return key(a) < key(b); });
  return static_cast<int>(source - standings.begin());
}

absl::Status BroadcastBestParameters(Communicator* communicator, int root, const v1::FitStanding& source,
                                     const Replica& replica, FitState* state) {
  if (!source.has_best_parameters()) {
    state->best_parameters = AlignedBuffer<float>();
    return absl::OkStatus();
  }
  if (state->best_parameters.size() == 0)
    state->best_parameters = AlignedBuffer<float>(replica.parameters().size());
  return communicator->Broadcast(root,
                                 absl::MakeSpan(reinterpret_cast<std::byte*>(state->best_parameters.data()),
                                                state->best_parameters.size() * sizeof(float)));
}

// After a loss most ranks already hold what they would get.
bool HoldsTheSame(const v1::FitStanding& standing, const v1::FitStanding& source) {
  return standing.live() && Progress(standing) == Progress(source) &&
         standing.has_best_parameters() == source.has_best_parameters();
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

absl::StatusOr<bool> StartFit(const v1::JobSpec& spec, const StartOptions& options,
                              Checkpointer* checkpointer, FitState* state, Replica* replica,
                              Communicator* communicator) {
  v1::FitStanding own;
  own.set_live(state->live);
  own.set_has_best_parameters(state->best_parameters.size() > 0);
  absl::Status unusable;  // what is on rank 0's disk; nobody needs it if a rank holds the state
  if (state->live) {
    *own.mutable_position() = state->position;
  } else if (communicator->rank() == 0) {
    absl::StatusOr<v1::CheckpointManifest> position =
        ResumeOrInitialize(spec, options, state->job_id, checkpointer, replica);
    if (position.ok()) *own.mutable_position() = *std::move(position);
    unusable = position.status();
  }
  ASSIGN_OR_RETURN(const std::vector<v1::FitStanding> standings, ExchangeStandings(own, communicator));
  const int root = SourceOf(standings);
  const v1::FitStanding& source = standings[root];
  if (!source.has_position()) {
    RETURN_IF_ERROR(unusable);
    // Rank 0 has told the cause to the chief, who tells this rank.
    RETURN_IF_ERROR(communicator->Barrier());
    return absl::InternalError("rank 0 has no state, and no error either");
  }
  if (!unusable.ok()) {
    options.listener->OnMessage(absl::StrCat("goes on from the state of rank ", root,
                                             "; the checkpoint cannot be used: ", unusable.message()));
  }
  const bool holds_the_same = HoldsTheSame(own, source);
  if (communicator->rank() != root && !holds_the_same) state->live = false;
  const bool all_hold_it =
      std::all_of(standings.begin(), standings.end(),
                  [&source](const v1::FitStanding& standing) { return HoldsTheSame(standing, source); });
  if (!all_hold_it) {
    RETURN_IF_ERROR(BroadcastReplica(communicator, root, replica));
    RETURN_IF_ERROR(BroadcastBestParameters(communicator, root, source, *replica, state));
  }

  v1::CheckpointManifest position = source.position();
  const int64_t global_batch = GlobalBatch(spec.fit(), communicator->world_size());
  RETURN_IF_ERROR(CheckPositionFits(position, spec, global_batch));
  position.set_global_batch(global_batch);
  const std::string spec_hash = SpecHash(spec.model(), spec.compile());
  if (!position.spec_hash().empty() && position.spec_hash() != spec_hash) {
    options.listener->OnMessage(absl::StrCat("the checkpoint of step ", position.step(),
                                             " was written with another model or loss of the same shapes"));
  }
  position.set_spec_hash(spec_hash);
  position.set_job_id(state->job_id);
  RETURN_IF_ERROR(CheckHashes(communicator, replica->Hash(), "parameters", replica->step()));
  state->position = std::move(position);
  state->live = true;
  return source.live();
}

}  // namespace lockstep

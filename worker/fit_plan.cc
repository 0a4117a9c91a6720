#include "worker/fit_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/cpu.h"
#include "base/status_macros.h"
#include "data/open_dataset.h"
#include "data/row_range.h"
#include "model/shape.h"
#include "proto/job.pb.h"
#include "worker/agreement.h"

namespace lockstep {
namespace {

// Keras's batch size where none is given.
constexpr int64_t kDefaultBatch = 32;

LabelKind WantedLabels(const v1::Loss& loss) {
  return loss.has_sparse_categorical_crossentropy() ? LabelKind::kClass : LabelKind::kFloat;
}

ShardPolicy PolicyOf(v1::Dataset::Shard shard) {
  switch (shard) {
    case v1::Dataset::FILE:
      return ShardPolicy::kFile;
    case v1::Dataset::OFF:
      return ShardPolicy::kOff;
    default:
      return ShardPolicy::kData;
  }
}

absl::StatusOr<std::shared_ptr<const Dataset>> Open(const v1::Dataset& source, const OpenOptions& options,
                                                    absl::string_view field) {
  absl::StatusOr<std::shared_ptr<const Dataset>> dataset = OpenDataset(source, options);
  if (dataset.ok()) return dataset;
  return absl::Status(dataset.status().code(), absl::StrCat(field, ": ", dataset.status().message()));
}

// Of all files, before one that is missing ends the opening.
absl::Status CheckPaths(const v1::Data& data, const std::string& data_root) {
  for (const auto& [field, dataset] :
       {std::pair("data.train.", &data.train()), std::pair("data.validation.", &data.validation())}) {
    const absl::Status status = CheckDatasetPaths(*dataset, data_root);
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(field, status.message()));
  }
  return absl::OkStatus();
}

BatchLoaderOptions LoaderOptions(const v1::JobSpec& spec, const v1::Dataset& dataset, const Loss& loss) {
  BatchLoaderOptions options;
  if (dataset.has_prefetch()) options.prefetch = dataset.prefetch();
  options.threads = std::max(1, spec.threading().inter_op_threads());
  if (loss.labels().classes) options.num_classes = loss.labels().num_classes;
  return options;
}

absl::StatusOr<std::vector<int64_t>> GatherRows(int64_t mine, Communicator* communicator) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, communicator->AllGather(absl::StrCat(mine)));
  std::vector<int64_t> rows(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!absl::SimpleAtoi(all[rank], &rows[rank]))
      return absl::InternalError(absl::StrCat("rank ", rank, " sent a row count that is no number"));
  }
  return rows;
}

// How the rows that `sampler` counts are shared out among the ranks.
absl::Status SetRanks(const v1::Dataset& source, Communicator* communicator, SamplerOptions* sampler) {
  sampler->rank = communicator->rank();
  sampler->world_size = communicator->world_size();
  sampler->policy = PolicyOf(source.shard());
  if (sampler->policy == ShardPolicy::kFile) {
    ASSIGN_OR_RETURN(sampler->rows_per_rank, GatherRows(sampler->rows, communicator));
  }
  return absl::OkStatus();
}

int64_t TotalRows(const SamplerOptions& sampler) {
  if (sampler.policy != ShardPolicy::kFile) return sampler.rows;
  return std::accumulate(sampler.rows_per_rank.begin(), sampler.rows_per_rank.end(), int64_t{0});
}

}  // namespace

absl::StatusOr<TrainingData> OpenTrainingData(const v1::JobSpec& spec, const std::string& data_root) {
  OpenOptions options;
  options.data_root = data_root;
  options.wanted_labels = WantedLabels(spec.compile().loss());
  RETURN_IF_ERROR(CheckPaths(spec.data(), data_root));
  TrainingData data;
  if (spec.data().has_train()) {
    ASSIGN_OR_RETURN(data.train, Open(spec.data().train(), options, "data.train"));
  }
  if (spec.data().has_validation()) {
    ASSIGN_OR_RETURN(data.validation, Open(spec.data().validation(), options, "data.validation"));
  }
  if (spec.data().validation_split() > 0) {
    ASSIGN_OR_RETURN(TrainValidation split, HoldOutLast(data.train, spec.data().validation_split()));
    data = {std::move(split.train), std::move(split.validation)};
  }
  return data;
}

const v1::Dataset& PassSource(const v1::JobSpec& spec) {
  return spec.data().has_validation() ? spec.data().validation() : spec.data().train();
}

int64_t GlobalBatch(const v1::Fit& fit, int world_size) {
  return fit.per_worker_batch_size() > 0 ? fit.per_worker_batch_size() * world_size : fit.batch_size();
}

std::vector<int64_t> Shares(int64_t global_batch, int world_size) {
  std::vector<int64_t> shares(world_size, global_batch / world_size);
  for (int rank = 0; rank < global_batch % world_size; ++rank) ++shares[rank];
  return shares;
}

absl::StatusOr<int> IntraOpThreads(const v1::JobSpec& spec, Communicator* communicator) {
  ASSIGN_OR_RETURN(const int ranks_here, RanksOnThisHost(communicator));
  const int threads = spec.threading().intra_op_threads();
  return threads > 0 ? threads : std::max(1, AllowedProcessors() / ranks_here);
}

absl::StatusOr<LoaderPlan> PlanTraining(const v1::JobSpec& spec, std::shared_ptr<const Dataset> dataset,
                                        const Loss& loss, uint64_t seed, Communicator* communicator) {
  const v1::Dataset& source = spec.data().train();
  LoaderPlan plan;
  plan.sampler.rows = dataset->info().rows;
  plan.sampler.global_batch = GlobalBatch(spec.fit(), communicator->world_size());
  plan.sampler.shuffle = source.shuffle();
  plan.sampler.seed = seed;
  plan.sampler.steps_per_epoch = spec.fit().steps_per_epoch();
  RETURN_IF_ERROR(SetRanks(source, communicator, &plan.sampler));
  plan.loader = LoaderOptions(spec, source, loss);
  plan.dataset = std::move(dataset);
  plan.total_rows = TotalRows(plan.sampler);
  return plan;
}

std::string DescribeDataOrder(const SamplerOptions& order) {
  const std::string rows = order.policy == ShardPolicy::kFile ? absl::StrJoin(order.rows_per_rank, " + ")
                                                              : absl::StrCat(order.rows);
  const std::string text = absl::StrFormat("%s rows, %s, %d per step", rows,
                                           order.shuffle ? "shuffled" : "in file order", order.global_batch);
  // Slices of the global batch are the same rows among any number of ranks; copies are not.
  if (order.policy != ShardPolicy::kOff) return text;
  return absl::StrFormat("%s of %d copies", text, order.world_size);
}

absl::StatusOr<LoaderPlan> PlanPass(const v1::JobSpec& spec, std::shared_ptr<const Dataset> dataset,
                                    const Loss& loss, Communicator* communicator) {
  const v1::Dataset& source = PassSource(spec);
  LoaderPlan plan;
  plan.sampler.rows = dataset->info().rows;
  plan.sampler.global_batch = spec.fit().validation_batch_size();
  if (plan.sampler.global_batch == 0)
    plan.sampler.global_batch = GlobalBatch(spec.fit(), communicator->world_size());
  if (plan.sampler.global_batch == 0) plan.sampler.global_batch = kDefaultBatch * communicator->world_size();
  RETURN_IF_ERROR(SetRanks(source, communicator, &plan.sampler));
  // Every row counts once: where all ranks have all rows, copies would only be work done twice.
  if (plan.sampler.policy == ShardPolicy::kOff) plan.sampler.policy = ShardPolicy::kData;
  plan.loader = LoaderOptions(spec, source, loss);
  plan.dataset = std::move(dataset);
  plan.total_rows = TotalRows(plan.sampler);
  return plan;
}

absl::Status CheckDatasetFits(const DatasetInfo& info, const std::vector<int64_t>& input_shape,
                              const Loss& loss, absl::string_view field) {
  if (info.feature_shape != input_shape) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": a row's features have the shape ", ShapeToString(info.feature_shape),
                     ", but model.input.shape is ", ShapeToString(input_shape)));
  }
  const LabelEncoding encoding =
      info.label_kind == LabelKind::kClass ? LabelEncoding::kClasses : LabelEncoding::kValues;
  if (absl::Status fits = CheckLabels(loss.labels(), encoding, info.label_shape); !fits.ok())
    return absl::Status(fits.code(), absl::StrCat(field, ": ", fits.message()));
  return absl::OkStatus();
}

}  // namespace lockstep

#include "data/sampler.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "data/apportion.h"
#include "data/permutation.h"

namespace lockstep {
namespace {

// Keeps sums and products of a few row counts within 64 bits.
constexpr int64_t kMostRows = int64_t{1} << 48;
constexpr int kMostRanks = 1 << 14;

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

absl::Status CheckCount(const char* name, int64_t value) {
  if (value >= 1 && value <= kMostRows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " outside [1, ", kMostRows, "]"));
}

absl::Status CheckFileRows(const SamplerOptions& options) {
  if (options.rows_per_rank.size() != static_cast<size_t>(options.world_size)) {
    return absl::InvalidArgumentError(absl::StrCat("shard FILE: rows of ", options.rows_per_rank.size(),
                                                   " ranks are known, but there are ", options.world_size));
  }
  for (const int64_t rows : options.rows_per_rank) RETURN_IF_ERROR(CheckCount("rows of a rank", rows));
  if (options.rows_per_rank[options.rank] != options.rows) {
    return absl::InvalidArgumentError(absl::StrCat("shard FILE: rank ", options.rank, " announced ",
                                                   options.rows_per_rank[options.rank],
                                                   " rows but its dataset has ", options.rows));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const SamplerOptions& options) {
  RETURN_IF_ERROR(CheckCount("rows", options.rows));
  RETURN_IF_ERROR(CheckCount("global batch", options.global_batch));
  if (options.world_size < 1 || options.world_size > kMostRanks) {
    return absl::InvalidArgumentError(
        absl::StrCat("world size ", options.world_size, " outside [1, ", kMostRanks, "]"));
  }
  if (options.rank < 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " outside [0, ", options.world_size, ")"));
  }
  if (options.steps_per_epoch < 0) {
    return absl::InvalidArgumentError(absl::StrCat("steps_per_epoch ", options.steps_per_epoch, " < 0"));
  }
  if (options.policy == ShardPolicy::kFile) return CheckFileRows(options);
  if (options.policy == ShardPolicy::kOff && options.global_batch % options.world_size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard OFF gives each rank the same rows: a global batch of ", options.global_batch,
                     " cannot be divided by ", options.world_size, " ranks"));
  }
  return absl::OkStatus();
}

int64_t TotalRows(const SamplerOptions& options) {
  switch (options.policy) {
    case ShardPolicy::kData:
      return options.rows;
    case ShardPolicy::kOff:
      return options.rows * options.world_size;
    case ShardPolicy::kFile:
      break;
  }
  int64_t total = 0;
  for (const int64_t rows : options.rows_per_rank) total += rows;
  return total;
}

// With kFile, equal row numbers on two ranks are different rows: each rank has an order of its own.
uint64_t OrderSeed(const SamplerOptions& options) {
  if (options.policy != ShardPolicy::kFile) return options.seed;
  const RandomBlock block = Philox(options.seed, RandomPurpose::kSeed, 0, options.rank);
  return (uint64_t{block[0]} << 32) | block[1];
}

}  // namespace

absl::StatusOr<Sampler> Sampler::Create(const SamplerOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  Sampler sampler(options);
  if (options.steps_per_epoch > sampler.steps_per_epoch_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fit.steps_per_epoch ", options.steps_per_epoch, " is more than the ", sampler.steps_per_epoch_,
        " steps of ", options.global_batch, " rows that ", sampler.total_rows_, " rows give"));
  }
  if (options.steps_per_epoch > 0) sampler.steps_per_epoch_ = options.steps_per_epoch;
  return sampler;
}

Sampler::Sampler(const SamplerOptions& options)
    : options_(options),
      order_seed_(OrderSeed(options)),
      total_rows_(TotalRows(options)),
      steps_per_epoch_(CeilDivide(total_rows_, options.global_batch)) {}

int64_t Sampler::largest_share() const {
  const int64_t batch = std::min(options_.global_batch, total_rows_);
  if (options_.policy != ShardPolicy::kFile) return CeilDivide(batch, options_.world_size);
  // The exact proportion, and at both ends of a batch the deviation that Apportion allows.
  const double part = static_cast<double>(options_.rows) / static_cast<double>(total_rows_);
  const double bound = part * static_cast<double>(batch + options_.world_size) + 2;
  return std::min({static_cast<int64_t>(bound), batch, options_.rows});
}

Sampler::StepShare Sampler::Share(int64_t /*epoch*/, int64_t step) const { return SliceOf(step).share; }

void Sampler::RowNumbers(int64_t epoch, int64_t step, std::vector<int64_t>* row_numbers) const {
  const Slice slice = SliceOf(step);
  row_numbers->resize(slice.share.rows);
  const Permutation permutation(options_.rows, order_seed_, epoch);
  for (int64_t i = 0; i < slice.share.rows; ++i) {
    const int64_t position = slice.position + i;
    (*row_numbers)[i] = options_.shuffle ? permutation(position) : position;
  }
}

Sampler::Slice Sampler::SliceOf(int64_t step) const {
  DCHECK(step >= 0 && step < steps_per_epoch_);
  switch (options_.policy) {
    case ShardPolicy::kData:
      return DataSlice(step);
    case ShardPolicy::kFile:
      return FileSlice(step);
    case ShardPolicy::kOff:
      break;
  }
  return OffSlice(step);
}

Sampler::Slice Sampler::DataSlice(int64_t step) const {
  const int64_t begin = step * options_.global_batch;
  const int64_t batch = std::min(options_.global_batch, total_rows_ - begin);
  const int64_t share = batch / options_.world_size;
  const int64_t ranks_with_one_more = batch % options_.world_size;
  const int64_t first = options_.rank * share + std::min<int64_t>(options_.rank, ranks_with_one_more);
  return {{batch, first, share + (options_.rank < ranks_with_one_more)}, begin + first};
}

Sampler::Slice Sampler::FileSlice(int64_t step) const {
  const int64_t begin = step * options_.global_batch;
  const int64_t end = std::min(begin + options_.global_batch, total_rows_);
  // Rows of each rank that are used up before the step and after it.
  const std::vector<int64_t> before = Apportion(begin, options_.rows_per_rank);
  const std::vector<int64_t> after = Apportion(end, options_.rows_per_rank);
  int64_t first = 0;
  for (int rank = 0; rank < options_.rank; ++rank) first += after[rank] - before[rank];
  const int64_t position = before[options_.rank];
  return {{end - begin, first, after[options_.rank] - position}, position};
}

Sampler::Slice Sampler::OffSlice(int64_t step) const {
  const int64_t full = options_.global_batch / options_.world_size;
  const int64_t position = step * full;
  const int64_t rows = std::min(full, options_.rows - position);
  return {{rows * options_.world_size, rows * options_.rank, rows}, position};
}

}  // namespace lockstep

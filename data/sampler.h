// Which rows a rank reads in which step: a pure function of (seed, epoch, step, rank, world size).
//
// Policy kData: the epoch's order is a permutation of all rows (file order without shuffle), a global batch
// is a run of positions in it, and each rank takes a contiguous slice of the batch, slices in rank order.
// So the rows of a step do not depend on the world size, and training can go on from any step.
// The last batch of an epoch may be short; it is shared out in the same way, and a rank may get no rows.
#ifndef LOCKSTEP_DATA_SAMPLER_H_
#define LOCKSTEP_DATA_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep {

enum class ShardPolicy {
  kData,  // every rank can read all rows and takes its slice of each batch
  kFile,  // every rank holds rows of its own; its part of each batch is proportional to their number
  kOff,   // every rank reads all rows in the same order; the global batch is the sum of the copies
};

struct SamplerOptions {
  int64_t rows = 0;          // of this rank's dataset
  int64_t global_batch = 0;  // rows per step of all ranks together
  bool shuffle = false;      // a new order in each epoch
  uint64_t seed = 0;
  int rank = 0;
  int world_size = 1;
  ShardPolicy policy = ShardPolicy::kData;
  std::vector<int64_t> rows_per_rank;  // for kFile: rows of each rank's dataset, the same on all ranks
  int64_t steps_per_epoch = 0;         // 0: all rows once; fewer: the epoch ends early
};

// A value type. Thread-safe.
class Sampler {
 public:
  // A rank's part of the global batch of one step.
  struct StepShare {
    int64_t global_rows;
    int64_t first_row_in_batch;
    int64_t rows;
  };

  // Errors: INVALID_ARGUMENT for a rank, size or count that makes no sense, a global batch that kOff cannot
  // divide, or more steps_per_epoch than there are.
  static absl::StatusOr<Sampler> Create(const SamplerOptions& options);

  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // No share of this rank has more rows.
  int64_t largest_share() const;

  // `epoch` >= 0, `step` (within the epoch) in [0, steps_per_epoch).
  StepShare Share(int64_t epoch, int64_t step) const;
  // The row numbers of the share, in batch order, replace the content of `row_numbers`.
  void RowNumbers(int64_t epoch, int64_t step, std::vector<int64_t>* row_numbers) const;

 private:
  // A share and where it begins in the order of this rank's dataset.
  struct Slice {
    StepShare share;
    int64_t position;
  };

  explicit Sampler(const SamplerOptions& options);

  Slice SliceOf(int64_t step) const;
  Slice DataSlice(int64_t step) const;
  Slice FileSlice(int64_t step) const;
  Slice OffSlice(int64_t step) const;

  SamplerOptions options_;
  uint64_t order_seed_;
  int64_t total_rows_;  // over which global batches run
  int64_t steps_per_epoch_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_SAMPLER_H_

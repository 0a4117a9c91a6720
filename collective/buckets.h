// The flat gradient buffer is reduced in buckets: runs of it that are handed to the communicator as soon as
// the backward pass has finished them, so that communication overlaps with computation.
//
// The boundaries depend on the buffer's size and the options alone, hence are equal on all ranks and fixed
// before the first step; buckets complete in order because gradients lie in the order in which the backward
// pass finishes them. Li et al. 2020, "PyTorch Distributed", section 4.2.
#ifndef LOCKSTEP_COLLECTIVE_BUCKETS_H_
#define LOCKSTEP_COLLECTIVE_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lockstep {

// Elements [begin, end) of the flat buffer.
struct Bucket {
  int64_t begin;
  int64_t end;
};

// How a buffer of `size` floats is cut. A value; immutable.
class BucketPlan {
 public:
  // The first bucket is small, so that the first reduction starts early in the backward pass.
  static constexpr int64_t kFirstBucketBytes = int64_t{1} << 20;

  // `bytes_per_pack` is the size of all buckets but the first (which is smaller if that is) and the last.
  // Errors: INVALID_ARGUMENT if size is negative or bytes_per_pack < 4.
  static absl::StatusOr<BucketPlan> Create(int64_t size, int64_t bytes_per_pack);

  // In order, without gaps; none for an empty buffer.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  int64_t size() const { return buckets_.empty() ? 0 : buckets_.back().end; }

 private:
  std::vector<Bucket> buckets_;
};

// Which buckets of a plan are complete during one backward pass. The plan outlives the tracker.
// Thread-compatible.
class BucketTracker {
 public:
  explicit BucketTracker(const BucketPlan* plan);

  // Notes that [begin, end) is final and appends the indices of the buckets that this completes to
  // `completed`, in increasing order. Ranges may come in any order and cut buckets anywhere.
  // Errors: INVALID_ARGUMENT for a range outside of the buffer; FAILED_PRECONDITION if a bucket gets more
  // elements than it has, because part of it was reported twice.
  absl::Status OnFinal(int64_t begin, int64_t end, std::vector<int>* completed);

  // Whether all buckets are complete.
  bool AllComplete() const { return missing_buckets_ == 0; }

  // Starts over for the next backward pass.
  void Reset();

 private:
  const BucketPlan* plan_;
  std::vector<int64_t> missing_elements_;  // per bucket
  int missing_buckets_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_BUCKETS_H_

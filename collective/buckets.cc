#include "collective/buckets.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {

absl::StatusOr<BucketPlan> BucketPlan::Create(int64_t size, int64_t bytes_per_pack) {
  constexpr int64_t kElement = sizeof(float);
  if (size < 0) return absl::InvalidArgumentError(absl::StrCat("buffer of ", size, " elements"));
  if (bytes_per_pack < kElement) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes_per_pack is ", bytes_per_pack, "; one element takes ", kElement, " bytes"));
  }
  BucketPlan plan;
  int64_t begin = 0;
  int64_t length = std::min(kFirstBucketBytes, bytes_per_pack) / kElement;
  while (begin < size) {
    const int64_t end = begin + std::min(length, size - begin);
    plan.buckets_.push_back({begin, end});
    begin = end;
    length = bytes_per_pack / kElement;
  }
  return plan;
}

BucketTracker::BucketTracker(const BucketPlan* plan) : plan_(plan) { Reset(); }

absl::Status BucketTracker::OnFinal(int64_t begin, int64_t end, std::vector<int>* completed) {
  if (begin < 0 || begin > end || end > plan_->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("range [", begin, ", ", end, ") in a buffer of ", plan_->size(), " elements"));
  }
  const std::vector<Bucket>& buckets = plan_->buckets();
  auto bucket = std::upper_bound(buckets.begin(), buckets.end(), begin,
                                 [](int64_t position, const Bucket& b) { return position < b.end; });
  for (; bucket != buckets.end() && bucket->begin < end; ++bucket) {
    const int index = static_cast<int>(bucket - buckets.begin());
    const int64_t count = std::min(end, bucket->end) - std::max(begin, bucket->begin);
    if (count > missing_elements_[index]) {
      return absl::FailedPreconditionError(absl::StrCat("range [", begin, ", ", end,
                                                        ") was final before: bucket ", index, " misses only ",
                                                        missing_elements_[index], " elements"));
    }
    missing_elements_[index] -= count;
    if (count > 0 && missing_elements_[index] == 0) {
      --missing_buckets_;
      completed->push_back(index);
    }
  }
  return absl::OkStatus();
}

void BucketTracker::Reset() {
  missing_elements_.clear();
  for (const Bucket& bucket : plan_->buckets()) missing_elements_.push_back(bucket.end - bucket.begin);
  missing_buckets_ = static_cast<int>(missing_elements_.size());
}

}  // namespace lockstep

#include "worker/bucket_sink.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace lockstep {

BucketSink::BucketSink(BucketPlan plan, Communicator* communicator, absl::Span<float> gradients,
                       StepTotals* totals)
    : plan_(std::move(plan)),
      communicator_(communicator),
      gradients_(gradients),
      totals_(totals),
      tracker_(&plan_) {}

void BucketSink::BeginStep(absl::Time step_begin) {
  tracker_.Reset();
  started_ = 0;
  status_ = absl::OkStatus();
  step_begin_ = step_begin;
}

void BucketSink::OnFinal(int64_t begin, int64_t end) {
  if (!status_.ok()) return;
  completed_.clear();
  status_ = tracker_.OnFinal(begin, end, &completed_);
  for (const int bucket : completed_) Start(bucket);
}

void BucketSink::Start(size_t bucket) {
  const bool first = started_ == 0;
  const bool last = ++started_ == plan_.buckets().size();
  if (last) totals_->compute_seconds() = absl::ToDoubleSeconds(absl::Now() - step_begin_);
  absl::Span<double> doubles;
  if (first) doubles = last ? totals_->all() : totals_->head();
  if (last && !first) doubles = totals_->tail();
  const auto [begin, end] = plan_.buckets()[bucket];
  const ReduceBuffers buffers = {doubles, gradients_.subspan(begin, end - begin)};
  if (!last) return communicator_->StartAllReduce(buffers);
  // Backward has nothing left to do: the thread may as well reduce.
  status_ = communicator_->AllReduce(buffers);
}

absl::Status BucketSink::EndStep() {
  RETURN_IF_ERROR(status_);
  if (plan_.buckets().empty()) {
    return communicator_->AllReduce({totals_->all(), {}});
  }
  if (tracker_.AllComplete()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrFormat("backward finished %d of %d gradient buckets", started_, plan_.buckets().size()));
}

}  // namespace lockstep

// Hands gradient buckets to the communicator as backward finishes them; the head travels in front of the
// first bucket, the tail behind the last one. One-thread.
#ifndef LOCKSTEP_WORKER_BUCKET_SINK_H_
#define LOCKSTEP_WORKER_BUCKET_SINK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collective/buckets.h"
#include "collective/communicator.h"
#include "model/gradient_sink.h"
#include "worker/step_totals.h"

namespace lockstep {

class BucketSink : public GradientSink {
 public:
  // `plan` covers `gradients`. Nothing but the plan is owned.
  BucketSink(BucketPlan plan, Communicator* communicator, absl::Span<float> gradients, StepTotals* totals);
  BucketSink(const BucketSink&) = delete;
  BucketSink& operator=(const BucketSink&) = delete;

  void BeginStep(absl::Time step_begin);
  void OnFinal(int64_t begin, int64_t end) override;
  // INTERNAL if backward has left gradients out. Otherwise everything was handed over.
  absl::Status EndStep();

 private:
  void Start(size_t bucket);

  const BucketPlan plan_;
  Communicator* const communicator_;
  const absl::Span<float> gradients_;
  StepTotals* const totals_;
  BucketTracker tracker_;
  size_t started_ = 0;
  std::vector<int> completed_;
  absl::Status status_;
  absl::Time step_begin_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_BUCKET_SINK_H_

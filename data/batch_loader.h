// Reads batches ahead of the training loop: threads of its own fill a fixed set of buffers, which are
// allocated once for the largest local batch and used in turn.
//
// The sequence of batches is the sampler's, whatever the number of threads.
#ifndef LOCKSTEP_DATA_BATCH_LOADER_H_
#define LOCKSTEP_DATA_BATCH_LOADER_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "data/dataset.h"
#include "data/sampler.h"

namespace lockstep {

// This rank's part of the global batch of one step. The buffers have room for the largest local batch; the
// first `rows` rows of them are valid.
struct Batch {
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  int64_t global_rows = 0;
  int64_t first_row_in_batch = 0;
  int64_t rows = 0;                  // may be 0
  std::vector<int64_t> row_numbers;  // [rows], in the dataset
  AlignedBuffer<float> features;     // [rows, feature elements]
  AlignedBuffer<int32_t> classes;    // [rows] if the dataset's labels are classes, else empty
  AlignedBuffer<float> values;       // [rows, label elements] if they are floats, else empty
};

struct BatchLoaderOptions {
  int prefetch = 2;         // batches prepared in advance; raised to `threads`, so that each has work
  int threads = 1;          // that read, each a batch of its own
  int64_t num_classes = 0;  // class labels must lie in [0, num_classes); 0: not checked
  // Where to begin, as for Seek.
  int64_t first_epoch = 0;
  int64_t first_step = 0;
};

// Seek, Next and stats are for one thread, the consumer.
class BatchLoader {
 public:
  struct Stats {
    absl::Duration waited;   // by the consumer in Next: time that training lost to input
    absl::Duration reading;  // by the loader's threads, summed
  };

  // Begins to read.
  // Errors: INVALID_ARGUMENT for counts below 1; RESOURCE_EXHAUSTED if the buffers would not fit memory.
  static absl::StatusOr<std::unique_ptr<BatchLoader>> Create(std::shared_ptr<const Dataset> dataset,
                                                             Sampler sampler,
                                                             const BatchLoaderOptions& options);

  // Waits for reads under way, at most one batch per thread.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Goes on at a step of an epoch (both >= 0; steps beyond the end of an epoch count into the next ones).
  // Drops what is prepared, also the batch handed out last, and waits for reads under way.
  void Seek(int64_t epoch, int64_t step);

  // The next batch; after the last step of an epoch, the first of the next one. Blocks until it is read.
  // It is valid until the next call of Next or Seek.
  //
  // Errors: those of Dataset::Read, and INVALID_ARGUMENT for a class label outside [0, num_classes). They
  // belong to the batch that is asked for, and are returned again until Seek.
  absl::StatusOr<const Batch*> Next();

  Stats stats() const;

 private:
  // A buffer. A reader owns it from claiming its sequence number to marking it read, then the consumer.
  struct Slot {
    Batch batch;
    absl::Status status;
    bool is_read = false;  // guarded by mutex_
  };

  BatchLoader(std::shared_ptr<const Dataset> dataset, Sampler sampler, const BatchLoaderOptions& options,
              int slots);

  void AllocateSlots();
  void ReadBatches();
  absl::Status Fill(int64_t sequence_number, Batch* batch) const;
  absl::Status CheckClasses(const Batch& batch) const;
  Slot& SlotOf(int64_t sequence_number) { return slots_[sequence_number % slots_.size()]; }

  bool MayClaimOrStopped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NoReadUnderWay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return reads_under_way_ == 0; }

  const std::shared_ptr<const Dataset> dataset_;
  const Sampler sampler_;
  const BatchLoaderOptions options_;
  std::vector<Slot> slots_;

  // A batch's sequence number is epoch * steps_per_epoch + step.
  mutable Mutex mutex_;
  int64_t next_to_hand_out_ ABSL_GUARDED_BY(mutex_);  // or handed out, and not given back yet
  int64_t next_to_claim_ ABSL_GUARDED_BY(mutex_);
  int reads_under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool seeking_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Stats stats_ ABSL_GUARDED_BY(mutex_);

  bool handed_out_ = false;  // of the consumer
  std::vector<std::thread> threads_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_BATCH_LOADER_H_

// Writes checkpoints while training goes on. The training thread copies the state into memory of the writer's
// own; a thread of the writer passes the copy to the CheckpointStore.
//
//   training thread   ... step  step | Copy (waits for the write before) | Write | step  step  step ...
//   writer's thread   ... write      | idle                              |       | write, sync, rename ...
//
// There is one copy, kept from save to save, so the next one waits for the write before it: a disk that is
// too slow for the interval holds training up instead of filling memory. One copy can be written as both the
// step's checkpoint and the best one.
//
// All functions are for one thread, the training one. The store is used by the writer's thread alone.
#ifndef LOCKSTEP_WORKER_CHECKPOINT_WRITER_H_
#define LOCKSTEP_WORKER_CHECKPOINT_WRITER_H_

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "worker/checkpoint_contents.h"
#include "worker/checkpoint_store.h"
#include "worker/named_tensor.h"

namespace lockstep {

class CheckpointWriter {
 public:
  enum class Target {
    kStep,  // CheckpointStore::Save
    kBest,  // CheckpointStore::SaveBest
  };

  struct Stats {
    int64_t written = 0;     // checkpoints that are durable
    absl::Duration writing;  // of the writer's thread, failed writes included
  };

  // `store` is not owned, and used by nobody else until the writer is gone.
  explicit CheckpointWriter(CheckpointStore* store);
  // Waits for what is queued. Errors that nobody asked for are logged.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits until all writes before have ended, and copies flat arrays of values, which may change afterwards.
  // Returns the Hash64 of each. An error is the oldest one of a write before that has not been returned yet;
  // then nothing is copied, and the call can be repeated.
  absl::StatusOr<std::vector<uint64_t>> Copy(absl::Span<const absl::Span<const float>> buffers);

  // Has the copy written. The tensors of `contents` are views of the buffers given to Copy. May be called for
  // each target once; then waits for the first.
  void Write(Target target, CheckpointContents contents);

  // Returns once nothing is left to write, with the oldest error that has not been returned yet.
  absl::Status Flush();

  // The oldest such error of a write that has ended. Does not wait.
  absl::Status TakeError();

  Stats stats() const;

 private:
  struct Queued {
    Target target;
    CheckpointContents contents;  // views of the copy
  };

  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.empty(); }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || !queue_.empty(); }
  absl::Status TakeErrorLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Points tensors that are views of an array to the copy of it.
  void MoveToCopy(std::vector<NamedTensor>* tensors) const;
  void Run();
  absl::Status WriteNow(const Queued& queued);

  CheckpointStore* const store_;

  // An array, and the copy of it. The training thread's; the writer reads the copies while the queue has
  // items.
  struct Copied {
    absl::Span<const float> original;
    AlignedBuffer<float> copy;
  };
  std::vector<Copied> copied_;

  mutable Mutex mutex_;
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);  // the first one is being written
  std::deque<absl::Status> errors_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses the others
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHECKPOINT_WRITER_H_

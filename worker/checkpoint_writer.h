// Writes checkpoints while training goes on. A save copies the state into memory of the writer's own and
// returns; a thread of the writer passes the copy to the CheckpointStore.
//
//   training thread   ... step  step | wait for room, copy | step  step  step ...
//   writer's thread   idle           |                     | write, sync, rename, `latest` ...
//
// There is one copy, kept from save to save, so the next save waits for the write before it: a disk that is
// too slow for the interval holds training up instead of filling memory. Saves of the same state (a step's
// checkpoint that is also the best one) share the copy and queue up.
//
// All functions are for one thread, the training one. The store is used by the writer's thread alone.
#ifndef LOCKSTEP_WORKER_CHECKPOINT_WRITER_H_
#define LOCKSTEP_WORKER_CHECKPOINT_WRITER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "proto/checkpoint.pb.h"
#include "worker/checkpoint_contents.h"
#include "worker/checkpoint_store.h"

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

  // Waits until the writes before have ended, copies `contents` and returns; the values may change then.
  // With the step and the hash (which must not be empty) of the last copy, neither waits nor copies.
  // An error is the oldest one of a write before that has not been returned yet; then nothing is saved, and
  // the call can be repeated.
  absl::Status Save(Target target, const CheckpointContents& contents);

  // Returns once nothing is left to write, with the oldest error that has not been returned yet.
  absl::Status Flush();

  // The oldest such error of a write that has ended. Does not wait.
  absl::Status TakeError();

  Stats stats() const;

 private:
  struct Write {
    Target target;
    v1::CheckpointManifest manifest;
  };

  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.empty(); }
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || !queue_.empty(); }
  absl::Status TakeErrorLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsCopied(const CheckpointContents& contents) const;
  void Copy(const CheckpointContents& contents);
  void Run();
  absl::Status WriteCopy(const Write& write);

  CheckpointStore* const store_;

  // The copy: the training thread's while the queue is empty, the writer's while it is not.
  AlignedBuffer<float> values_;
  CheckpointContents copy_;
  // What it is a copy of; the training thread's.
  int64_t copied_step_ = -1;
  std::string copied_hash_;

  mutable Mutex mutex_;
  std::deque<Write> queue_ ABSL_GUARDED_BY(mutex_);  // the first one is being written
  std::deque<absl::Status> errors_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses the others
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHECKPOINT_WRITER_H_

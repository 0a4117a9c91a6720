// The completion queue of a GrpcTransportService, and who works it off.
//
// A thread that waits for an operation works the queue off itself (DriveUntil): a hand-over between threads
// costs more than a small all-reduce. The queue's own thread does so only while nobody waits, so that peers
// that come, go or break are noticed at any time. It leaves the queue alone for a lease after the last
// DriveUntil, because an operation is often followed by the next one.
// Thread-safe, except for the constructor and Start.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_QUEUE_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_QUEUE_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "collective/transport/transport.h"

namespace lockstep {

class GrpcQueue {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // An operation under `tag` has ended. May be called from several threads at once.
    virtual void OnEvent(void* tag, bool ok) = 0;
    // The time given to CallAt has come. Returns when to call again.
    virtual absl::Time OnTime() = 0;
  };

  // As in GrpcTransportOptions.
  struct Options {
    absl::Duration poll_time;
    absl::Duration lease;
  };

  // `handler` outlives the queue.
  GrpcQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, Handler* handler, const Options& options);
  ~GrpcQueue();  // Shutdown, if Start was called

  // For starting operations on.
  grpc::ServerCompletionQueue* get() { return queue_.get(); }

  // Starts the queue's own thread.
  void Start();

  // Handles events in the calling thread until `completion` is done; false if `deadline` came before.
  bool DriveUntil(Completion* completion, absl::Time deadline, Waiting waiting);

  // OnTime is called at `time`, or earlier.
  void CallAt(absl::Time time);

  // Ends the thread. All operations have ended, nobody drives.
  void Shutdown();

 private:
  void RunThread();
  void AwaitTurn();
  bool MayTakeTurn() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeDrivers();
  void CallIfTime();
  // Handles one event, or the time.
  enum class Outcome { kEvent, kNoEvent, kShutDown };
  Outcome Next(absl::Time deadline);
  void Wake();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  Handler* const handler_;
  const Options options_;
  std::thread thread_;

  Mutex mutex_;
  int num_drivers_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time lease_end_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time next_time_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // Makes a thread return from the queue.
  grpc::Alarm wake_ ABSL_GUARDED_BY(mutex_);
  bool wake_pending_ ABSL_GUARDED_BY(mutex_) = false;
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_QUEUE_H_

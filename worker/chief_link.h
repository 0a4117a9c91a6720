// A worker's end of the control stream to the chief: joins, joins again after a loss, passes orders to the
// runner and outcomes to the chief. Thread-safe. Two threads of its own: one reads, one sends heartbeats and
// misses the chief's.
#ifndef LOCKSTEP_WORKER_CHIEF_LINK_H_
#define LOCKSTEP_WORKER_CHIEF_LINK_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/cluster.pb.h"
#include "worker/job_runner.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace lockstep {

struct ChiefLinkOptions {
  absl::Duration join_timeout = absl::Seconds(60);
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration heartbeat_timeout = absl::Seconds(10);
};

class ChiefLink {
 public:
  ChiefLink(const ChiefLinkOptions& options, const v1::Identity& self, const std::string& chief_address);
  ~ChiefLink();

  // Begins to join. `runner` outlives Stop. `on_lost` is called when a chief that was joined is lost, after
  // LostError() says why.
  void Start(JobRunner* runner, std::function<void()> on_lost);
  // Says goodbye to the chief and ends the threads. Idempotent.
  void Stop(const std::string& why);

  // Sends the outcome to the chief; dropped if the chief is gone, which ends the job for it anyway.
  void Report(const v1::JobOutcome& outcome);

  bool joined() const;
  bool ever_joined() const;
  // ALREADY_EXISTS once another process has taken the rank: this one is not to come back, and does not try.
  absl::Status superseded() const;
  // Why the last attempt to join failed; OK while joined.
  absl::Status last_error() const;
  // The same, but also OK before the first join, when the chief may well be there.
  absl::Status LostError() const;

 private:
  class Stream;

  void JoinForever();
  absl::Status JoinOnce();
  void KeepTime();
  void Handle(const v1::ChiefMessage& message);
  void Lost(const absl::Status& why);
  // How the stream has ended: what was missed tells more than what gRPC says.
  absl::Status EndOf(Stream* stream);
  bool HasNoStream() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stream_ == nullptr; }

  const ChiefLinkOptions options_;
  const v1::Identity self_;
  const std::string chief_address_;
  JobRunner* runner_ = nullptr;
  std::function<void()> on_lost_;

  mutable Mutex mutex_;
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mutex_);  // null while there is none
  absl::Time last_heard_ ABSL_GUARDED_BY(mutex_);
  absl::Status silence_ ABSL_GUARDED_BY(mutex_);  // of the chief on this stream, once it was too long
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  absl::Status superseded_ ABSL_GUARDED_BY(mutex_);
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;
  bool ever_joined_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread join_thread_;
  std::thread time_thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_CHIEF_LINK_H_

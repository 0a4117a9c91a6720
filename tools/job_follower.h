// Follows a job from its first event to its last, across broken connections.
#ifndef LOCKSTEP_TOOLS_JOB_FOLLOWER_H_
#define LOCKSTEP_TOOLS_JOB_FOLLOWER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/trainer.pb.h"
#include "tools/trainer_client.h"
#include "tools/watch_stream.h"

namespace lockstep {

// CancelJob may be called from any thread; the rest is for one. Follows one job in its life.
class JobFollower {
 public:
  struct Options {
    // How long to try again when the connection breaks.
    absl::Duration reconnect_timeout = absl::Seconds(10);
    // Asked when the connection breaks. An error says why, and ends the attempts.
    std::function<absl::Status()> find_cause = [] { return absl::OkStatus(); };
  };

  using EventCallback = std::function<void(const v1::JobEvent&)>;

  explicit JobFollower(Options options);

  // Returns OK once the job has ended: summary() says how. Events come in order, each once. Errors:
  //   NOT_FOUND no such job. UNAVAILABLE the connection was lost and did not come back in time: the job may
  //   still run. Those of Options::find_cause.
  absl::Status Follow(TrainerClient* client, const std::string& job_id, const EventCallback& on_event);

  // Asks the cluster for the end of the job, now or as soon as it is followed. Follow goes on until the job
  // has ended.
  void CancelJob();
  bool cancel_requested() const;

  // What is known of the job so far: its state and error are those of the newest event.
  const v1::JobSummary& summary() const { return summary_; }

 private:
  absl::Status ReadEvents(const std::string& job_id, const EventCallback& on_event);
  void Hear(const v1::JobEvent& event, const EventCallback& on_event);
  bool Ended() const;
  // Returns once the cluster answers again.
  absl::Status AwaitCluster(const std::string& job_id, const absl::Status& problem);
  // For a stream that ended in order, but without the job's last event.
  absl::Status FetchEnd(const std::string& job_id, const EventCallback& on_event);
  // True once after CancelJob.
  bool TakeCancel();

  const Options options_;
  TrainerClient* client_ = nullptr;  // of Follow

  int64_t last_sequence_ = 0;
  v1::JobState state_ = v1::JOB_STATE_UNSPECIFIED;  // of the newest change
  v1::JobSummary summary_;

  mutable Mutex mutex_;
  WatchStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null between connections
  bool cancel_requested_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancel_sent_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_JOB_FOLLOWER_H_

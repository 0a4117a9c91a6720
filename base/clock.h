// Time as a dependency, so that tests of timeouts need not wait. Thread-safe.
#ifndef LOCKSTEP_BASE_CLOCK_H_
#define LOCKSTEP_BASE_CLOCK_H_

#include "absl/time/time.h"
#include "base/mutex.h"

namespace lockstep {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;

  // The real clock. Never destroyed.
  static Clock* Real();
};

// Stands still until it is told to go on.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time now = absl::UnixEpoch()) : now_(now) {}
  absl::Time Now() override {
    MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration duration) {
    MutexLock lock(&mutex_);
    now_ += duration;
  }

 private:
  Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_CLOCK_H_

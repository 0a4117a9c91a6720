// absl::Mutex under names of ours, which also tell the thread sanitizer about each lock and unlock.
//
// Why: Debian's Abseil is not instrumented, so the sanitizer would see no happens-before edge and report
// every guarded access as a race. Outside of sanitizer builds the wrapper compiles to nothing.
#ifndef LOCKSTEP_BASE_MUTEX_H_
#define LOCKSTEP_BASE_MUTEX_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#if defined(__SANITIZE_THREAD__)
#define LOCKSTEP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_TSAN 1
#endif
#endif

#ifdef LOCKSTEP_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace lockstep {

// Tell the sanitizer that everything before HandOver(p) happens before everything after TakeOver(p).
// For hand-overs through uninstrumented code, such as a completion queue's tag.
inline void HandOver([[maybe_unused]] void* address) {
#ifdef LOCKSTEP_TSAN
  __tsan_release(address);
#endif
}
inline void TakeOver([[maybe_unused]] void* address) {
#ifdef LOCKSTEP_TSAN
  __tsan_acquire(address);
#endif
}

using Condition = absl::Condition;

// A condition whose evaluation the sanitizer sees as done under the mutex. Abseil evaluates conditions
// between locks and unlocks of its own, and also in the thread that unlocks.
class ObservedCondition {
 public:
#ifdef LOCKSTEP_TSAN
  ObservedCondition(void* mutex, const Condition& condition)
      : mutex_(mutex), condition_(condition), observed_(&ObservedCondition::Eval, this) {
    HandOver(this);
  }
  const Condition& get() const { return observed_; }

 private:
  static bool Eval(ObservedCondition* self) {
    TakeOver(self);  // before the first look into it
    TakeOver(self->mutex_);
    const bool holds = self->condition_.Eval();
    HandOver(self->mutex_);
    return holds;
  }
  void* const mutex_;
  const Condition& condition_;
  const Condition observed_;
#else
  ObservedCondition(void* /*mutex*/, const Condition& condition) : condition_(condition) {}
  const Condition& get() const { return condition_; }

 private:
  const Condition& condition_;
#endif
};

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.Lock();
    TakeOver(this);
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    HandOver(this);
    mutex_.Unlock();
  }
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() { mutex_.AssertHeld(); }

  // Blocks until `condition` holds. The caller holds the mutex before, during evaluation, and after.
  void Await(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    ObservedCondition observed(this, condition);
    HandOver(this);
    mutex_.Await(observed.get());
    TakeOver(this);
  }
  // The same with an end: returns whether `condition` holds.
  bool AwaitWithDeadline(const Condition& condition, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    ObservedCondition observed(this, condition);
    HandOver(this);
    const bool holds = mutex_.AwaitWithDeadline(observed.get(), deadline);
    TakeOver(this);
    return holds;
  }

 private:
  absl::Mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_MUTEX_H_

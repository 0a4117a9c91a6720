// A queue between threads with room for a fixed number of items: producers wait for room, consumers for
// items. Close() ends both waits. Thread-safe.
#ifndef LOCKSTEP_BASE_BOUNDED_QUEUE_H_
#define LOCKSTEP_BASE_BOUNDED_QUEUE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace lockstep {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room. Returns false, and drops the item, if the queue is closed.
  [[nodiscard]] bool Push(T item) {
    MutexLock lock(&mutex_);
    mutex_.Await(Condition(this, &BoundedQueue::HasRoomOrClosed));
    if (closed_) return false;
    items_.push_back(std::move(item));
    return true;
  }

  // Waits for an item. Empty once the queue is closed and drained.
  std::optional<T> Pop() {
    MutexLock lock(&mutex_);
    mutex_.Await(Condition(this, &BoundedQueue::HasItemOrClosed));
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  // Later Push calls fail; items already queued can still be taken.
  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
  }

 private:
  bool HasRoomOrClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closed_ || items_.size() < capacity_;
  }
  bool HasItemOrClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !items_.empty(); }

  const size_t capacity_;
  Mutex mutex_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_BOUNDED_QUEUE_H_

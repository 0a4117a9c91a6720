#include "collective/transport/reorder_transport.h"

#include <utility>

namespace lockstep {

ReorderTransport::ReorderTransport(std::unique_ptr<Transport> transport, uint32_t seed)
    : transport_(std::move(transport)), random_(seed), thread_([this] { Forward(); }) {}

ReorderTransport::~ReorderTransport() {
  {
    MutexLock lock(&mutex_);
    ends_ = true;
  }
  thread_.join();
}

void ReorderTransport::Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) {
  MutexLock lock(&mutex_);
  waiting_.push_back({peer, tag, parts, completion});
}

void ReorderTransport::Abort(const absl::Status& status) {
  transport_->Abort(status);
  MutexLock lock(&mutex_);
  for (const Waiting& send : waiting_) send.completion->Finish(transport_->status());
  waiting_.clear();
}

void ReorderTransport::Forward() {
  while (true) {
    // A random number of turns for the other threads is the delay.
    for (uint32_t i = random_() % 8; i > 0; --i) std::this_thread::yield();
    MutexLock lock(&mutex_);
    mutex_.Await(Condition(this, &ReorderTransport::HasWorkOrEnds));
    if (waiting_.empty()) return;
    std::swap(waiting_[random_() % waiting_.size()], waiting_.back());
    const Waiting send = waiting_.back();
    waiting_.pop_back();
    // Under the lock, so that Abort finds each send either here or in the transport below.
    transport_->Send(send.peer, send.tag, send.parts, send.completion);
  }
}

}  // namespace lockstep

#include "collective/transport/simulated_network.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "base/logging.h"
#include "base/mutex.h"
#include "collective/transport/in_process_transport.h"

namespace lockstep {
namespace {

// A message on its way: what it says is copied, since its sender may go on when it has left.
struct Message {
  int from;
  int to;
  uint64_t tag;
  int64_t number;  // among those of its sender
  std::vector<double> doubles;
  std::vector<float> floats;
  std::vector<std::byte> bytes;
  Completion* sent;  // the sender's; null once it is done
  Completion taken;  // by the receiver

  SendParts parts() const { return {doubles, floats, bytes}; }
};

enum class EventKind { kLeft, kArriving, kArrived };

struct Event {
  double seconds;
  EventKind kind;
  Message* message;

  // In a total order, so that every run is the same.
  auto Key() const {
    return std::make_tuple(seconds, static_cast<int>(kind), message->from, message->to, message->number);
  }
  bool operator<(const Event& other) const { return Key() < other.Key(); }
};

}  // namespace

class SimulatedNetwork::Impl {
 public:
  Impl(int world_size, const SimulatedLink& link)
      : link_(link), inner_(MakeInProcessGroup(world_size)), ranks_(world_size), num_there_(world_size) {
    CHECK_GT(link.bytes_per_second, 0);
    CHECK_GE(link.latency, absl::ZeroDuration());
  }

  int world_size() const { return static_cast<int>(inner_.size()); }
  Transport& inner(int rank) { return *inner_[rank]; }

  absl::Duration Now() const {
    MutexLock lock(&mutex_);
    return absl::Seconds(seconds_);
  }

  void Send(int from, int to, uint64_t tag, const SendParts& parts, Completion* completion) {
    MutexLock lock(&mutex_);
    const bool to_another = to >= 0 && to < world_size() && to != from;
    if (!to_another || !inner(from).status().ok()) return inner(from).Send(to, tag, parts, completion);
    auto message = std::make_unique<Message>();
    message->from = from;
    message->to = to;
    message->tag = tag;
    message->number = ranks_[from].num_sent++;
    message->doubles.assign(parts.doubles.begin(), parts.doubles.end());
    message->floats.assign(parts.floats.begin(), parts.floats.end());
    message->bytes.assign(parts.bytes.begin(), parts.bytes.end());
    message->sent = completion;
    const double start = std::max(seconds_, ranks_[from].outgoing_free);
    ranks_[from].outgoing_free = start + Transmission(*message);
    events_.insert({ranks_[from].outgoing_free, EventKind::kLeft, message.get()});
    events_.insert({start + absl::ToDoubleSeconds(link_.latency), EventKind::kArriving, message.get()});
    messages_.push_back(std::move(message));
  }

  bool Wait(int rank, Completion* completion, absl::Time deadline) {
    MutexLock lock(&mutex_);
    if (completion->done()) return true;
    BeginWaitLocked(rank, completion);
    const auto move_on = [this, rank]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ranks_[rank].waits_for == nullptr || (AllWait() && !events_.empty());
    };
    while (true) {
      if (!mutex_.AwaitWithDeadline(Condition(&move_on), deadline)) break;
      if (ranks_[rank].waits_for == nullptr) return true;
      NextEventLocked();
    }
    EndWaitLocked(rank);
    return false;
  }

  void Meet(int rank) {
    Completion all_there;
    {
      MutexLock lock(&mutex_);
      meeting_.push_back(&all_there);
      if (static_cast<int>(meeting_.size()) == num_there_) {
        for (Completion* one : meeting_) one->Finish(absl::OkStatus());
        meeting_.clear();
        for (int other = 0; other < world_size(); ++other) EndWaitIfDoneLocked(other);
      }
    }
    Wait(rank, &all_there, absl::InfiniteFuture());
  }

  void Abort(int rank, const absl::Status& status) {
    MutexLock lock(&mutex_);
    inner(rank).Abort(status);
    EndOperationsLocked();
  }

  void Leave(int rank) {
    MutexLock lock(&mutex_);
    // What it sent arrives: as over a real network, in order, before its end is noticed.
    while (HasMessagesFrom(rank) && !events_.empty()) NextEventLocked();
    inner_[rank].reset();
    --num_there_;
    EndOperationsLocked();
  }

 private:
  struct Rank {
    double outgoing_free = 0;  // when its link is, in seconds
    double incoming_free = 0;
    int64_t num_sent = 0;
    Completion* waits_for = nullptr;
  };

  double Transmission(const Message& message) const {
    return static_cast<double>(message.parts().size_bytes()) / link_.bytes_per_second;
  }

  bool AllWait() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_waiting_ == num_there_; }

  bool HasMessagesFrom(int rank) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(events_.begin(), events_.end(),
                       [rank](const Event& event) { return event.message->from == rank; });
  }

  void NextEventLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Event event = *events_.begin();
    events_.erase(events_.begin());
    seconds_ = std::max(seconds_, event.seconds);
    Message& message = *event.message;
    switch (event.kind) {
      case EventKind::kLeft:
        FinishSendLocked(&message, absl::OkStatus());
        break;
      case EventKind::kArriving: {
        double& free = ranks_[message.to].incoming_free;
        free = std::max(seconds_, free) + Transmission(message);
        events_.insert({free, EventKind::kArrived, &message});
        break;
      }
      case EventKind::kArrived:
        inner(message.from).Send(message.to, message.tag, message.parts(), &message.taken);
        EndWaitIfDoneLocked(message.to);
        DropTakenLocked();
        break;
    }
  }

  void FinishSendLocked(Message* message, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (message->sent == nullptr) return;
    std::exchange(message->sent, nullptr)->Finish(status);
    EndWaitIfDoneLocked(message->from);
  }

  void DropTakenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto taken = [](const std::unique_ptr<Message>& message) {
      return message->sent == nullptr && message->taken.done();
    };
    messages_.erase(std::remove_if(messages_.begin(), messages_.end(), taken), messages_.end());
  }

  // After an error of some: whoever waits for an operation that has ended is woken.
  void EndOperationsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const std::unique_ptr<Message>& message : messages_) {
      if (inner_[message->from] == nullptr) continue;
      if (const absl::Status status = inner(message->from).status(); !status.ok())
        FinishSendLocked(message.get(), status);
    }
    for (int rank = 0; rank < world_size(); ++rank) EndWaitIfDoneLocked(rank);
  }

  void BeginWaitLocked(int rank, Completion* completion) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ranks_[rank].waits_for = completion;
    ++num_waiting_;
  }
  void EndWaitLocked(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ranks_[rank].waits_for = nullptr;
    --num_waiting_;
  }
  void EndWaitIfDoneLocked(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ranks_[rank].waits_for != nullptr && ranks_[rank].waits_for->done()) EndWaitLocked(rank);
  }

  const SimulatedLink link_;
  std::vector<std::unique_ptr<Transport>> inner_;  // deliver what has arrived

  mutable Mutex mutex_;
  double seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Rank> ranks_ ABSL_GUARDED_BY(mutex_);
  int num_there_ ABSL_GUARDED_BY(mutex_);
  int num_waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<Event> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Message>> messages_ ABSL_GUARDED_BY(mutex_);
  std::vector<Completion*> meeting_ ABSL_GUARDED_BY(mutex_);
};

namespace {

class SimulatedTransport : public Transport {
 public:
  SimulatedTransport(std::shared_ptr<SimulatedNetwork::Impl> network, int rank)
      : network_(std::move(network)), rank_(rank) {}
  ~SimulatedTransport() override { network_->Leave(rank_); }

  int rank() const override { return rank_; }
  int world_size() const override { return network_->world_size(); }

  void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) override {
    network_->Send(rank_, peer, tag, parts, completion);
  }
  void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) override {
    network_->inner(rank_).Receive(peer, tag, mode, parts, completion);
  }
  bool Wait(Completion* completion, absl::Time deadline, Waiting /*waiting*/) override {
    return network_->Wait(rank_, completion, deadline);
  }
  absl::Time Now() const override { return absl::UnixEpoch() + network_->Now(); }
  void Abort(const absl::Status& status) override { network_->Abort(rank_, status); }
  absl::Status status() const override { return network_->inner(rank_).status(); }

 private:
  const std::shared_ptr<SimulatedNetwork::Impl> network_;
  const int rank_;
};

}  // namespace

SimulatedNetwork::SimulatedNetwork(int world_size, const SimulatedLink& link)
    : impl_(std::make_shared<Impl>(world_size, link)) {}
SimulatedNetwork::~SimulatedNetwork() = default;

std::vector<std::unique_ptr<Transport>> SimulatedNetwork::MakeGroup() {
  std::vector<std::unique_ptr<Transport>> group;
  for (int rank = 0; rank < impl_->world_size(); ++rank)
    group.push_back(std::make_unique<SimulatedTransport>(impl_, rank));
  return group;
}

absl::Duration SimulatedNetwork::Now() const { return impl_->Now(); }

void SimulatedNetwork::Meet(int rank) { impl_->Meet(rank); }

}  // namespace lockstep

// A transport whose sends leave late and in random order, as over a network with random delays, but without
// sleeping: a thread of its own picks the next one at random among those that wait.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_REORDER_TRANSPORT_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_REORDER_TRANSPORT_H_

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "collective/transport/transport.h"

namespace lockstep {

// Thread-safe.
class ReorderTransport : public Transport {
 public:
  ReorderTransport(std::unique_ptr<Transport> transport, uint32_t seed);
  ~ReorderTransport() override;

  int rank() const override { return transport_->rank(); }
  int world_size() const override { return transport_->world_size(); }
  void Send(int peer, uint64_t tag, const SendParts& parts, Completion* completion) override;
  void Receive(int peer, uint64_t tag, ReceiveMode mode, const ReceiveParts& parts,
               Completion* completion) override {
    transport_->Receive(peer, tag, mode, parts, completion);
  }
  void Abort(const absl::Status& status) override;
  absl::Status status() const override { return transport_->status(); }

 private:
  struct Waiting {
    int peer;
    uint64_t tag;
    SendParts parts;
    Completion* completion;
  };

  bool HasWorkOrEnds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ends_ || !waiting_.empty(); }
  void Forward();

  const std::unique_ptr<Transport> transport_;
  std::mt19937 random_;  // of the thread

  Mutex mutex_;
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_REORDER_TRANSPORT_H_

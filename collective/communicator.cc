#include "collective/communicator.h"

#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/bounded_queue.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "collective/chunked_buffers.h"
#include "collective/exchange.h"
#include "collective/ring_all_gather.h"
#include "collective/ring_all_reduce.h"
#include "collective/ring_broadcast.h"

namespace lockstep {
namespace {

// Operations that may wait for the communicator's thread: far more than one step has buckets, so that the
// backward pass is never held up.
constexpr size_t kMaxQueuedOperations = 1024;

struct Operation {
  absl::string_view name;
  size_t size_bytes;
  std::function<absl::Status(Exchange*)> run;
};

class RingCommunicator : public Communicator {
 public:
  RingCommunicator(std::unique_ptr<Transport> transport, CommunicatorOptions options)
      : transport_(std::move(transport)), options_(options), thread_([this] { RunOperations(); }) {}

  ~RingCommunicator() override {
    bool idle;
    {
      MutexLock lock(&mutex_);
      idle = under_way_ == 0;
    }
    if (!idle) Abort(absl::CancelledError("the communicator was destroyed during an operation"));
    queue_.Close();
    thread_.join();
  }

  int rank() const override { return transport_->rank(); }
  int world_size() const override { return transport_->world_size(); }

  void StartAllReduce(const ReduceBuffers& buffers) override {
    Start({"all-reduce", SizeBytes(buffers),
           [buffers](Exchange* exchange) { return RingAllReduce(buffers, exchange); }});
  }

  absl::Status WaitAll() override {
    const absl::Time start = absl::Now();
    MutexLock lock(&mutex_);
    // Ends, because each operation does.
    mutex_.Await(Condition(this, &RingCommunicator::NothingUnderWay));
    stats_.exposed += absl::Now() - start;
    return error_;
  }

  absl::Status AllReduce(const ReduceBuffers& buffers) override {
    StartAllReduce(buffers);
    return WaitAll();
  }

  absl::Status Broadcast(int root, absl::Span<std::byte> bytes) override {
    if (root < 0 || root >= world_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("broadcast from rank ", root, " in a group of ", world_size()));
    }
    Start({"broadcast", bytes.size(),
           [root, bytes](Exchange* exchange) { return RingBroadcast(root, bytes, exchange); }});
    return WaitAll();
  }

  absl::StatusOr<std::vector<std::string>> AllGather(absl::string_view mine) override {
    std::vector<std::string> all;
    Start({"all-gather", mine.size(),
           [mine, &all](Exchange* exchange) { return RingAllGather(mine, &all, exchange); }});
    RETURN_IF_ERROR(WaitAll());
    return all;
  }

  absl::Status Barrier() override {
    // The one element's sum needs every rank, and every rank needs the sum.
    double token = 1;
    Start({"barrier", sizeof(token), [&token](Exchange* exchange) {
             return RingAllReduce({absl::MakeSpan(&token, 1), {}}, exchange);
           }});
    return WaitAll();
  }

  void Abort(const absl::Status& status) override {
    {
      MutexLock lock(&mutex_);
      if (error_.ok()) error_ = status;
    }
    transport_->Abort(status);
  }

  CommunicatorStats stats() const override {
    MutexLock lock(&mutex_);
    CommunicatorStats stats = stats_;
    if (under_way_ > 0) stats.busy += absl::Now() - busy_since_;
    return stats;
  }

 private:
  bool NothingUnderWay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return under_way_ == 0; }

  void Start(Operation operation) {
    {
      MutexLock lock(&mutex_);
      if (under_way_++ == 0) busy_since_ = absl::Now();
    }
    // Only the destructor closes the queue.
    CHECK(queue_.Push(std::move(operation)));
  }

  void RunOperations() {
    int64_t sequence = 0;
    while (std::optional<Operation> operation = queue_.Pop()) {
      Exchange exchange(transport_.get(), &options_, operation->name, sequence++, operation->size_bytes);
      absl::Status status = FirstError();
      if (status.ok()) {
        status = operation->run(&exchange);
        if (!status.ok()) transport_->Abort(status);
      }
      OnEnd(status, exchange.bytes_sent());
    }
  }

  absl::Status FirstError() {
    MutexLock lock(&mutex_);
    return error_;
  }

  void OnEnd(const absl::Status& status, int64_t bytes_sent) {
    MutexLock lock(&mutex_);
    if (error_.ok()) error_ = status;
    stats_.bytes_sent += bytes_sent;
    ++stats_.operations;
    if (--under_way_ == 0) stats_.busy += absl::Now() - busy_since_;
  }

  const std::unique_ptr<Transport> transport_;
  const CommunicatorOptions options_;
  BoundedQueue<Operation> queue_{kMaxQueuedOperations};

  mutable Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first one
  int64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time busy_since_ ABSL_GUARDED_BY(mutex_);
  CommunicatorStats stats_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(std::unique_ptr<Transport> transport,
                                                                   CommunicatorOptions options) {
  if (transport == nullptr) return absl::InvalidArgumentError("communicator without a transport");
  if (2 * transport->world_size() > (1 << Exchange::kStepBits)) {
    return absl::InvalidArgumentError(absl::StrCat("group of ", transport->world_size(), " ranks; at most ",
                                                   (1 << Exchange::kStepBits) / 2, " are supported"));
  }
  if (options.segment_bytes == 0 || options.segment_bytes % sizeof(double) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment_bytes is ", options.segment_bytes, "; it must be a positive multiple of 8"));
  }
  if (options.timeout <= absl::ZeroDuration() || options.stall_warning <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout ", absl::FormatDuration(options.timeout), " and stall_warning ",
                     absl::FormatDuration(options.stall_warning), " must be positive"));
  }
  return std::make_unique<RingCommunicator>(std::move(transport), options);
}

}  // namespace lockstep

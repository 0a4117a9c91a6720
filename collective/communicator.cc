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
#include "collective/backend.h"
#include "collective/exchange.h"
#include "collective/group_backend.h"
#include "collective/half.h"

namespace lockstep {
namespace {

// Operations that may wait for the communicator's thread: far more than one step has buckets, so that the
// backward pass is never held up.
constexpr size_t kMaxQueuedOperations = 1024;

using Operation = std::function<absl::Status(Waiting)>;

class OrderedCommunicator : public Communicator {
 public:
  OrderedCommunicator(std::unique_ptr<Transport> transport, GroupBackend group, Compression compression)
      : transport_(std::move(transport)),
        group_(std::move(group)),
        backend_(group_.backend.get()),
        compression_(compression),
        thread_([this] { RunOperations(); }) {}

  ~OrderedCommunicator() override {
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
  std::string medium() const override { return group_.medium; }
  std::string algorithms() const override { return group_.algorithms; }
  std::string paths() const override { return group_.paths; }

  void StartAllReduce(const ReduceBuffers& buffers) override {
    Start([this, buffers](Waiting waiting) { return ReduceRounded(buffers, waiting); });
  }

  absl::Status WaitAll() override {
    const absl::Time start = absl::Now();
    MutexLock lock(&mutex_);
    caller_waits_ = true;
    // Ends, because each operation does.
    mutex_.Await(Condition(this, &OrderedCommunicator::NothingUnderWay));
    caller_waits_ = false;
    stats_.exposed += absl::Now() - start;
    return error_;
  }

  absl::Status AllReduce(const ReduceBuffers& buffers) override {
    return Run([this, &buffers](Waiting waiting) { return ReduceRounded(buffers, waiting); });
  }

  absl::Status Broadcast(int root, absl::Span<std::byte> bytes) override {
    if (root < 0 || root >= world_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("broadcast from rank ", root, " in a group of ", world_size()));
    }
    return Run([this, root, bytes](Waiting waiting) { return backend_->Broadcast(root, bytes, waiting); });
  }

  absl::StatusOr<std::vector<std::string>> AllGather(absl::string_view mine) override {
    std::vector<std::string> all;
    RETURN_IF_ERROR(
        Run([this, mine, &all](Waiting waiting) { return backend_->AllGather(mine, &all, waiting); }));
    return all;
  }

  absl::Status Barrier() override {
    return Run([this](Waiting waiting) { return backend_->Barrier(waiting); });
  }

  absl::StatusOr<std::unique_ptr<CollectiveBuffer>> Allocate(size_t bytes) override {
    std::unique_ptr<CollectiveBuffer> buffer;
    RETURN_IF_ERROR(Run([this, bytes, &buffer](Waiting waiting) {
      absl::StatusOr<std::unique_ptr<CollectiveBuffer>> allocated = backend_->Allocate(bytes, waiting);
      if (allocated.ok()) buffer = *std::move(allocated);
      return allocated.status();
    }));
    return buffer;
  }

  void Abort(const absl::Status& status) override {
    {
      MutexLock lock(&mutex_);
      if (error_.ok()) error_ = status;
    }
    backend_->Abort(status);
  }

  CommunicatorStats stats() const override {
    MutexLock lock(&mutex_);
    CommunicatorStats stats = stats_;
    if (under_way_ > 0) stats.busy += absl::Now() - busy_since_;
    return stats;
  }

 private:
  // Everywhere the same, whatever the backend does: it may rely on what is rounded already, and rounds no
  // more than this does.
  absl::Status ReduceRounded(const ReduceBuffers& buffers, Waiting waiting) {
    RoundInPlace(compression_, buffers.floats);
    RETURN_IF_ERROR(backend_->AllReduce(buffers, waiting));
    RoundInPlace(compression_, buffers.floats);
    return absl::OkStatus();
  }

  bool NothingUnderWay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return under_way_ == 0; }

  void Start(Operation operation) {
    {
      MutexLock lock(&mutex_);
      if (under_way_++ == 0) busy_since_ = absl::Now();
    }
    // Only the destructor closes the queue.
    CHECK(queue_.Push(std::move(operation)));
  }

  // Starts an operation and waits: in the calling thread if nothing is under way.
  template <typename Function>
  absl::Status Run(const Function& operation) {
    const absl::Time start = absl::Now();
    bool idle;
    absl::Status error;
    {
      MutexLock lock(&mutex_);
      idle = under_way_ == 0;
      error = error_;
      if (idle) {
        ++under_way_;
        busy_since_ = start;
      }
    }
    if (!idle) {
      Start(operation);
      return WaitAll();
    }
    if (error.ok()) error = RunOne(operation, Waiting::kPolling);
    const absl::Time end = absl::Now();
    MutexLock lock(&mutex_);
    EndOneLocked(error, end);
    stats_.exposed += end - start;
    return error_;
  }

  void RunOperations() {
    while (std::optional<Operation> operation = queue_.Pop()) {
      absl::Status error;
      Waiting waiting;
      {
        MutexLock lock(&mutex_);
        error = error_;
        waiting = caller_waits_ ? Waiting::kPolling : Waiting::kAsleep;
      }
      if (error.ok()) error = RunOne(*operation, waiting);
      const absl::Time end = absl::Now();
      MutexLock lock(&mutex_);
      EndOneLocked(error, end);
    }
  }

  template <typename Function>
  absl::Status RunOne(const Function& operation, Waiting waiting) {
    absl::Status status = operation(waiting);
    if (!status.ok()) backend_->Abort(status);
    return status;
  }

  void EndOneLocked(const absl::Status& status, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (error_.ok()) error_ = status;
    stats_.bytes_sent = backend_->bytes_sent();
    ++stats_.operations;
    if (--under_way_ == 0) stats_.busy += now - busy_since_;
  }

  const std::unique_ptr<Transport> transport_;
  const GroupBackend group_;
  Backend* const backend_;  // of the thread that runs an operation
  const Compression compression_;
  BoundedQueue<Operation> queue_{kMaxQueuedOperations};

  mutable Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first one
  int64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool caller_waits_ ABSL_GUARDED_BY(mutex_) = false;  // so that nothing computes
  absl::Time busy_since_ ABSL_GUARDED_BY(mutex_);
  CommunicatorStats stats_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses all of the above
};

absl::Status CheckOptions(int world_size, const CommunicatorOptions& options) {
  if (2 * world_size > Exchange::kMostRingSteps) {
    return absl::InvalidArgumentError(absl::StrCat("group of ", world_size, " ranks; at most ",
                                                   Exchange::kMostRingSteps / 2, " are supported"));
  }
  if (!options.host_of_rank.empty() && options.host_of_rank.size() != static_cast<size_t>(world_size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("hosts of ", options.host_of_rank.size(), " ranks in a group of ", world_size));
  }
  if (options.segment_bytes == 0 || options.segment_bytes % sizeof(double) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment_bytes is ", options.segment_bytes, "; it must be a positive multiple of 8"));
  }
  if (options.algorithm == Algorithm::kRing && options.compression != Compression::kNone) {
    return absl::InvalidArgumentError("a ring passes partial sums on, which cannot be compressed");
  }
  if (options.window < 1) {
    return absl::InvalidArgumentError(absl::StrCat("window is ", options.window, "; it must be positive"));
  }
  if (options.most_cost_measurements < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("most_cost_measurements is ", options.most_cost_measurements, "; it must be positive"));
  }
  if (options.timeout <= absl::ZeroDuration() || options.stall_warning <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout ", absl::FormatDuration(options.timeout), " and stall_warning ",
                     absl::FormatDuration(options.stall_warning), " must be positive"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(std::unique_ptr<Transport> transport,
                                                                   CommunicatorOptions options) {
  if (transport == nullptr) return absl::InvalidArgumentError("communicator without a transport");
  RETURN_IF_ERROR(CheckOptions(transport->world_size(), options));
  ASSIGN_OR_RETURN(GroupBackend group, MakeGroupBackend(transport.get(), options));
  // One rank alone sends nothing.
  const Compression compression = transport->world_size() > 1 ? options.compression : Compression::kNone;
  return std::make_unique<OrderedCommunicator>(std::move(transport), std::move(group), compression);
}

}  // namespace lockstep

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
#include "collective/mesh_all_reduce.h"
#include "collective/one_hop_all_reduce.h"
#include "collective/ring_all_gather.h"
#include "collective/ring_all_reduce.h"
#include "collective/ring_broadcast.h"

namespace lockstep {
namespace {

// Operations that may wait for the communicator's thread: far more than one step has buckets, so that the
// backward pass is never held up.
constexpr size_t kMaxQueuedOperations = 1024;

// Beyond these, one hop sends too many bytes, and a mesh is too many streams at once.
constexpr size_t kMostOneHopBytes = size_t{256} << 10;
constexpr int kMostMeshRanks = 8;

Algorithm ChooseAlgorithm(size_t bytes, int world_size) {
  if (bytes * (world_size - 1) <= kMostOneHopBytes) return Algorithm::kOneHop;
  return world_size <= kMostMeshRanks ? Algorithm::kMesh : Algorithm::kRing;
}

struct Operation {
  absl::string_view name;
  size_t size_bytes;
  std::function<absl::Status(Exchange*)> run;
};

class RingCommunicator : public Communicator {
 public:
  RingCommunicator(std::unique_ptr<Transport> transport, CommunicatorOptions options)
      : transport_(std::move(transport)), group_{transport_.get(), options, {}}, thread_([this] {
          RunOperations();
        }) {}

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

  void StartAllReduce(const ReduceBuffers& buffers) override { Start(AllReduceOf(buffers)); }

  absl::Status WaitAll() override {
    const absl::Time start = absl::Now();
    MutexLock lock(&mutex_);
    // Ends, because each operation does.
    mutex_.Await(Condition(this, &RingCommunicator::NothingUnderWay));
    stats_.exposed += absl::Now() - start;
    return error_;
  }

  absl::Status AllReduce(const ReduceBuffers& buffers) override { return Run(AllReduceOf(buffers)); }

  absl::Status Broadcast(int root, absl::Span<std::byte> bytes) override {
    if (root < 0 || root >= world_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("broadcast from rank ", root, " in a group of ", world_size()));
    }
    return Run({"broadcast", bytes.size(),
                [root, bytes](Exchange* exchange) { return RingBroadcast(root, bytes, exchange); }});
  }

  absl::StatusOr<std::vector<std::string>> AllGather(absl::string_view mine) override {
    std::vector<std::string> all;
    RETURN_IF_ERROR(Run({"all-gather", mine.size(),
                         [mine, &all](Exchange* exchange) { return RingAllGather(mine, &all, exchange); }}));
    return all;
  }

  absl::Status Barrier() override {
    // The one element's sum needs every rank, and every rank needs the sum.
    double token = 1;
    Operation barrier = AllReduceOf({absl::MakeSpan(&token, 1), {}});
    barrier.name = "barrier";
    return Run(std::move(barrier));
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

  Operation AllReduceOf(const ReduceBuffers& buffers) const {
    const size_t bytes = SizeBytes(buffers);
    Algorithm algorithm = group_.options.algorithm;
    if (algorithm == Algorithm::kAuto) algorithm = ChooseAlgorithm(bytes, world_size());
    auto* const all_reduce = algorithm == Algorithm::kOneHop ? &OneHopAllReduce
                             : algorithm == Algorithm::kMesh ? &MeshAllReduce
                                                             : &RingAllReduce;
    return {"all-reduce", bytes,
            [buffers, all_reduce](Exchange* exchange) { return all_reduce(buffers, exchange); }};
  }

  // Starts an operation and waits: in the calling thread if nothing is under way.
  absl::Status Run(Operation operation) {
    bool idle;
    const absl::Time start = absl::Now();
    {
      MutexLock lock(&mutex_);
      idle = under_way_ == 0;
      if (idle) {
        ++under_way_;
        busy_since_ = start;
      }
    }
    if (!idle) {
      Start(std::move(operation));
      return WaitAll();
    }
    RunOne(operation);
    MutexLock lock(&mutex_);
    stats_.exposed += absl::Now() - start;
    return error_;
  }

  void RunOperations() {
    while (std::optional<Operation> operation = queue_.Pop()) RunOne(*operation);
  }

  void RunOne(const Operation& operation) {
    Exchange exchange(&group_, operation.name, sequence_++, operation.size_bytes);
    absl::Status status = FirstError();
    if (status.ok()) {
      status = operation.run(&exchange);
      if (!status.ok()) transport_->Abort(status);
    }
    OnEnd(status, exchange.bytes_sent());
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
  Exchange::Group group_;  // of the thread that runs an operation
  BoundedQueue<Operation> queue_{kMaxQueuedOperations};

  mutable Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first one
  int64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time busy_since_ ABSL_GUARDED_BY(mutex_);
  CommunicatorStats stats_ ABSL_GUARDED_BY(mutex_);

  int64_t sequence_ = 0;  // of the thread that runs an operation
  std::thread thread_;    // last: it uses all of the above
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(std::unique_ptr<Transport> transport,
                                                                   CommunicatorOptions options) {
  if (transport == nullptr) return absl::InvalidArgumentError("communicator without a transport");
  if (2 * transport->world_size() > Exchange::kMostRingSteps) {
    return absl::InvalidArgumentError(absl::StrCat("group of ", transport->world_size(), " ranks; at most ",
                                                   Exchange::kMostRingSteps / 2, " are supported"));
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

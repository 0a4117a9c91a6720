#include "collective/transport/grpc_transport.h"

#include <grpcpp/channel.h>
#include <grpcpp/server_builder.h>

#include <deque>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file_descriptor.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "collective/transport/frame_codec.h"
#include "collective/transport/generation_registry.h"
#include "collective/transport/grpc_channel.h"
#include "collective/transport/grpc_exchange_service.h"
#include "collective/transport/grpc_group.h"
#include "collective/transport/grpc_queue.h"
#include "collective/transport/grpc_stream.h"
#include "collective/transport/striped_transport.h"
#include "collective/transport/unix_address.h"

namespace lockstep {
namespace {

// Between the call and its hello lies one round trip.
constexpr absl::Duration kHelloTimeout = absl::Seconds(30);
// Shutdown without the server's shutdown before would wait for ever: that is a bug of the caller.
constexpr absl::Duration kShutdownTimeout = absl::Seconds(60);
constexpr size_t kMaxFrameBytes = size_t{4} << 20;

absl::Status CheckGroup(const GroupOptions& group, const GrpcTransportOptions& options) {
  const int world_size = static_cast<int>(group.addresses.size());
  if (group.rank < 0 || group.rank >= world_size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", group.rank, " in a group of ", world_size));
  }
  if (group.generation < 0) {
    return absl::InvalidArgumentError(absl::StrCat("generation ", group.generation, " is negative"));
  }
  if (options.frame_bytes == 0 || options.frame_bytes % 8 != 0 || options.frame_bytes > kMaxFrameBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frame_bytes is ", options.frame_bytes, "; it must be a multiple of 8 and at most ", kMaxFrameBytes));
  }
  if (group.connections < 1 || group.connections > kMostLanes) {
    return absl::InvalidArgumentError(absl::StrCat(
        group.connections, " connections between two ranks; between 1 and ", kMostLanes, " are possible"));
  }
  return absl::OkStatus();
}

}  // namespace

class GrpcTransportService::Impl : public GrpcGroupHost, public GrpcQueue::Handler {
 public:
  explicit Impl(GrpcTransportOptions options) : options_(options) {}

  void RegisterWith(grpc::ServerBuilder* builder) {
    ConfigurePeerServer(options_, builder);
    if (!options_.own_address.empty()) local_name_ = ListenForLocalPeers(options_.own_address, builder);
    builder->RegisterService(&service_);
    queue_ = std::make_unique<GrpcQueue>(builder->AddCompletionQueue(), this,
                                         GrpcQueue::Options{options_.poll_time, options_.queue_lease});
  }

  void Start() {
    CHECK(queue_ != nullptr) << "RegisterWith comes before Start";
    queue_->Start();
    MutexLock lock(&mutex_);
    running_ = true;
    AcceptLocked();
  }

  absl::StatusOr<std::unique_ptr<Transport>> Connect(const GroupOptions& options, absl::Time deadline) {
    RETURN_IF_ERROR(CheckGroup(options, options_));
    std::vector<std::unique_ptr<Transport>> lanes;
    for (int connection = 0; connection < options.connections; ++connection) {
      ASSIGN_OR_RETURN(lanes.emplace_back(), ConnectOne(options, connection, deadline));
    }
    return lanes.size() == 1 ? std::move(lanes[0]) : MakeStripedTransport(std::move(lanes));
  }

  void AbortGroup(const GroupId& id, const absl::Status& status) {
    MutexLock lock(&mutex_);
    for (int connection = 0; connection < kMostLanes; ++connection) {
      const auto group = groups_.find(IdOfConnection(id, connection));
      if (group != groups_.end()) group->second->EndLocked(status, status);
    }
  }

  void Shutdown() {
    {
      MutexLock lock(&mutex_);
      if (!running_) return;
      running_ = false;
      const absl::Status status = absl::CancelledError("the daemon is shutting down");
      for (const auto& [id, group] : groups_) group->EndLocked(status, status);
      for (const auto& [stream, owner] : streams_) {
        if (stream->group == nullptr && stream->started) RefuseLocked(stream, status);
      }
      CHECK(mutex_.AwaitWithDeadline(Condition(this, &Impl::NothingLeft), absl::Now() + kShutdownTimeout))
          << "transports or the server are still there";
    }
    queue_->Shutdown();
  }

  Mutex* mutex() override { return &mutex_; }
  const GrpcTransportOptions& options() const override { return options_; }

  bool IsReachedLocally(const std::string& address) const override {
    return !options_.own_address.empty() && IsServed(UnixTargetOf(address));
  }

  GrpcStream* OpenStreamLocked(const std::string& address, int connection) override {
    const std::string target = IsReachedLocally(address) ? UnixTargetOf(address) : address;
    std::shared_ptr<grpc::Channel>& channel = channels_[{target, connection}];
    if (channel == nullptr) channel = MakePeerChannel(target, options_);
    grpc::GenericStub stub(channel);
    return AddStreamLocked(OpenGrpcStream(&stub, queue_->get()));
  }

  void SetDeadlineLocked(GrpcStream* stream, absl::Time deadline) override {
    stream->deadline = deadline;
    queue_->CallAt(deadline);
  }

  bool DriveUntil(Completion* completion, absl::Time deadline, Waiting waiting) override {
    return queue_->DriveUntil(completion, deadline, waiting);
  }

  void ForgetLocked(GrpcGroup* group) override {
    groups_.erase(group->id());
    registry_.End(group->id());
  }

 private:
  absl::StatusOr<std::unique_ptr<Transport>> ConnectOne(const GroupOptions& options, int connection,
                                                        absl::Time deadline) {
    std::unique_ptr<GrpcGroup> group;
    {
      MutexLock lock(&mutex_);
      if (!running_) {
        return absl::FailedPreconditionError("the transport service is not running");
      }
      const GroupId first = {options.job, options.generation};
      // It may have ended since it was connected.
      if (connection > 0) RETURN_IF_ERROR(groups_.at(first)->StatusLocked());
      RETURN_IF_ERROR(registry_.Begin(IdOfConnection(first, connection)));
      group = std::make_unique<GrpcGroup>(this, options, connection);
      groups_[group->id()] = group.get();
      AdoptWaitingLocked(group.get());
    }
    RETURN_IF_ERROR(group->Form(deadline));
    return group;
  }

  bool NothingLeft() const { return streams_.empty() && groups_.empty(); }

  absl::Time OnTime() override {
    MutexLock lock(&mutex_);
    const absl::Time now = absl::Now();
    absl::Time next = absl::InfiniteFuture();
    for (const auto& [stream, owner] : streams_) {
      if (stream->deadline <= now) {
        stream->deadline = absl::InfiniteFuture();
        if (stream->group != nullptr) {
          stream->Cancel();
        } else {
          RefuseLocked(stream, absl::DeadlineExceededError(
                                   absl::StrCat("the group was not created here within ",
                                                absl::FormatDuration(options_.waiting_timeout))));
        }
      }
      next = std::min(next, stream->deadline);
    }
    return next;
  }

  void OnEvent(void* event, bool ok) override {
    const GrpcStream::Tag& tag = *static_cast<GrpcStream::Tag*>(event);
    std::unique_ptr<GrpcStream> over;  // destroyed without the lock
    MutexLock lock(&mutex_);
    GrpcStream* stream = tag.stream;
    stream->OnEvent(tag.event);
    if (stream->group != nullptr) {
      switch (tag.event) {
        case GrpcStream::Event::kStarted:
          stream->group->OnStartedLocked(stream, ok);
          break;
        case GrpcStream::Event::kRead:
          stream->group->OnReadLocked(stream, ok);
          break;
        case GrpcStream::Event::kWritten:
          stream->group->OnWrittenLocked(stream, ok);
          break;
        case GrpcStream::Event::kFinished:
          stream->group->OnFinishedLocked(stream);
          break;
      }
    } else {
      OnWaitingStreamEventLocked(stream, tag.event, ok);
    }
    if (!stream->over()) return;
    if (stream->group != nullptr) stream->group->OnStreamOverLocked();
    const auto owner = streams_.find(stream);
    over = std::move(owner->second);
    streams_.erase(owner);
  }

  // Streams of peers whose group is not known yet.
  void OnWaitingStreamEventLocked(GrpcStream* stream, GrpcStream::Event event, bool ok) {
    switch (event) {
      case GrpcStream::Event::kStarted:
        return OnAcceptedLocked(stream, ok);
      case GrpcStream::Event::kRead:
        if (ok) return OnHelloLocked(stream);
        stream->eof = true;
        return RefuseLocked(stream, absl::CancelledError("the caller has gone"));
      case GrpcStream::Event::kWritten:
      case GrpcStream::Event::kFinished:
        return;
    }
  }

  void AcceptLocked() { AddStreamLocked(AcceptGrpcStream(&service_, queue_->get())); }

  void OnAcceptedLocked(GrpcStream* stream, bool ok) {
    if (!ok) {  // the server is shutting down
      stream->finished = true;
      return;
    }
    stream->started = true;
    if (!running_) return RefuseLocked(stream, absl::CancelledError("the daemon is shutting down"));
    AcceptLocked();
    if (NumWaitingLocked() > options_.max_waiting_streams) {
      return RefuseLocked(
          stream, absl::ResourceExhaustedError(absl::StrCat("more than ", options_.max_waiting_streams,
                                                            " calls wait for their groups")));
    }
    stream->Read();
    SetDeadlineLocked(stream, absl::Now() + kHelloTimeout);
  }

  void OnHelloLocked(GrpcStream* stream) {
    std::vector<grpc::Slice> slices;
    std::vector<absl::string_view> runs;
    if (stream->read_buffer.Dump(&slices).ok()) {
      for (const grpc::Slice& slice : slices) {
        runs.emplace_back(reinterpret_cast<const char*>(slice.begin()), slice.size());
      }
    }
    const absl::StatusOr<ParsedFrame> frame = ParseFrame(runs);
    stream->read_buffer.Clear();
    if (!frame.ok()) return RefuseLocked(stream, frame.status());
    if (frame->kind != ParsedFrame::Kind::kHello || waiting_.count(stream) > 0) {
      return RefuseLocked(stream, absl::InvalidArgumentError("a call begins with one hello"));
    }
    if (const absl::Status known = registry_.CheckCaller(frame->group); !known.ok()) {
      return RefuseLocked(stream, known);
    }
    // Also tells when the caller gives up.
    stream->Read();
    if (const auto group = groups_.find(frame->group); group != groups_.end()) {
      const absl::Status adopted = group->second->AdoptLocked(stream, frame->hello);
      if (!adopted.ok()) RefuseLocked(stream, adopted);
      return;
    }
    waiting_[stream] = *frame;
    SetDeadlineLocked(stream, absl::Now() + options_.waiting_timeout);
  }

  void AdoptWaitingLocked(GrpcGroup* group) {
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
      GrpcStream* stream = waiting->first;
      const ParsedFrame hello = waiting->second;
      ++waiting;  // both calls below take it out
      if (hello.group == group->id()) {
        waiting_.erase(stream);
        const absl::Status adopted = group->AdoptLocked(stream, hello.hello);
        if (!adopted.ok()) RefuseLocked(stream, adopted);
      } else if (const absl::Status known = registry_.CheckCaller(hello.group); !known.ok()) {
        RefuseLocked(stream, known);
      }
    }
  }

  void RefuseLocked(GrpcStream* stream, const absl::Status& status) {
    waiting_.erase(stream);
    stream->deadline = absl::InfiniteFuture();
    if (!stream->finish_started) stream->Finish(status);
  }

  size_t NumWaitingLocked() const {
    size_t count = 0;
    for (const auto& [stream, owner] : streams_) {
      count += stream->group == nullptr && stream->started && !stream->finish_started;
    }
    return count;
  }

  GrpcStream* AddStreamLocked(std::unique_ptr<GrpcStream> stream) {
    GrpcStream* result = stream.get();
    streams_.emplace(result, std::move(stream));
    return result;
  }

  const GrpcTransportOptions options_;
  FileDescriptor local_name_;
  GrpcExchangeService service_;
  std::unique_ptr<GrpcQueue> queue_;

  Mutex mutex_;
  std::map<std::pair<std::string, int>, std::shared_ptr<grpc::Channel>>
      channels_;  // by target and connection
  std::map<GrpcStream*, std::unique_ptr<GrpcStream>> streams_;
  std::map<GrpcStream*, ParsedFrame> waiting_;  // with their hello
  std::map<GroupId, GrpcGroup*> groups_;
  GenerationRegistry registry_;
  bool running_ = false;
};

GrpcTransportService::GrpcTransportService(GrpcTransportOptions options)
    : impl_(std::make_unique<Impl>(options)) {}
GrpcTransportService::~GrpcTransportService() { Shutdown(); }

void GrpcTransportService::RegisterWith(grpc::ServerBuilder* builder) { impl_->RegisterWith(builder); }
void GrpcTransportService::Start() { impl_->Start(); }

absl::StatusOr<std::unique_ptr<Transport>> GrpcTransportService::Connect(const GroupOptions& group,
                                                                         absl::Time deadline) {
  return impl_->Connect(group, deadline);
}

void GrpcTransportService::AbortGroup(uint64_t job, int64_t generation, const absl::Status& status) {
  impl_->AbortGroup({job, generation}, status);
}

void GrpcTransportService::Shutdown() { impl_->Shutdown(); }

}  // namespace lockstep

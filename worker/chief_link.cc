#include "worker/chief_link.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "collective/peer_lost.h"
#include "proto/cluster.grpc.pb.h"
#include "worker/control_channel.h"
#include "worker/grpc_prober.h"
#include "worker/rpc_status.h"

namespace lockstep {
namespace {

constexpr absl::Duration kPauseBetweenJoins = absl::Milliseconds(300);
constexpr absl::Duration kGoodbye = absl::Seconds(1);

}  // namespace

// One call of Join. Writes from several threads are serialised; one thread reads.
class ChiefLink::Stream {
 public:
  // A frozen chief is for heartbeats to find, so the link's own patience is not shorter.
  Stream(const std::string& address, absl::Duration heartbeat_timeout)
      : channel_(MakeControlChannel(address, std::max(heartbeat_timeout, absl::Seconds(20)))),
        stub_(v1::Membership::NewStub(channel_)),
        call_(stub_->Join(&context_)) {}

  bool Write(const v1::WorkerMessage& message) {
    MutexLock lock(&mutex_);
    return call_->Write(message);
  }
  void WriteLast(const v1::WorkerMessage& message) {
    MutexLock lock(&mutex_);
    call_->Write(message);
    call_->WritesDone();
  }
  bool Read(v1::ChiefMessage* message) { return call_->Read(message); }
  void Cancel() { context_.TryCancel(); }
  absl::Status Finish() { return FromGrpcStatus(call_->Finish()); }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Membership::Stub> stub_;
  grpc::ClientContext context_;
  Mutex mutex_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::ChiefMessage>> call_;
};

ChiefLink::ChiefLink(const ChiefLinkOptions& options, const v1::Identity& self,
                     const std::string& chief_address)
    : options_(options),
      self_(self),
      chief_address_(chief_address),
      last_error_(absl::UnavailableError("not tried yet")) {}

ChiefLink::~ChiefLink() { Stop("the daemon shuts down"); }

void ChiefLink::Start(JobRunner* runner, std::function<void()> on_lost) {
  runner_ = runner;
  on_lost_ = std::move(on_lost);
  join_thread_ = std::thread([this] { JoinForever(); });
  time_thread_ = std::thread([this] { KeepTime(); });
}

void ChiefLink::Stop(const std::string& why) {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mutex_);
    if (stopping_) return;
    stopping_ = true;
    stream = stream_;
  }
  if (stream != nullptr) {
    v1::WorkerMessage leaving;
    leaving.mutable_leaving()->set_reason(why);
    stream->WriteLast(leaving);
    // The chief ends the stream once it has read that; one that does not is left behind.
    MutexLock lock(&mutex_);
    mutex_.AwaitWithDeadline(Condition(this, &ChiefLink::HasNoStream), absl::Now() + kGoodbye);
    stream->Cancel();
  }
  if (join_thread_.joinable()) join_thread_.join();
  if (time_thread_.joinable()) time_thread_.join();
}

void ChiefLink::Report(const v1::JobOutcome& outcome) {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mutex_);
    stream = stream_;
  }
  v1::WorkerMessage message;
  *message.mutable_outcome() = outcome;
  if (stream != nullptr) stream->Write(message);
}

bool ChiefLink::joined() const {
  MutexLock lock(&mutex_);
  return joined_;
}

bool ChiefLink::ever_joined() const {
  MutexLock lock(&mutex_);
  return ever_joined_;
}

absl::Status ChiefLink::superseded() const {
  MutexLock lock(&mutex_);
  return superseded_;
}

absl::Status ChiefLink::last_error() const {
  MutexLock lock(&mutex_);
  return joined_ ? absl::OkStatus() : last_error_;
}

absl::Status ChiefLink::LostError() const {
  MutexLock lock(&mutex_);
  return joined_ || !ever_joined_ ? absl::OkStatus() : last_error_;
}

void ChiefLink::JoinForever() {
  const absl::Time report_at = absl::Now() + options_.join_timeout;
  bool reported = false;
  while (true) {
    const absl::Status ended = JoinOnce();
    MutexLock lock(&mutex_);
    stream_.reset();
    joined_ = false;
    last_error_ = ended;
    if (absl::IsAlreadyExists(ended)) {
      superseded_ = ended;
      return;
    }
    if (!reported && !ever_joined_ && absl::Now() >= report_at) {
      reported = true;
      LOG(ERROR) << "rank 0 (" << chief_address_ << ") cannot be joined after "
                 << absl::FormatDuration(options_.join_timeout) << ": " << ended.message()
                 << "; still trying";
    }
    if (mutex_.AwaitWithDeadline(Condition(&stopping_), absl::Now() + kPauseBetweenJoins)) return;
  }
}

absl::Status ChiefLink::JoinOnce() {
  // Asks first who is there: the answer, or why there is none, is what the user needs to know.
  ASSIGN_OR_RETURN(const v1::Identity chief, GrpcProber().Identify(chief_address_));
  RETURN_IF_ERROR(CheckCompatible(self_, chief));
  auto stream = std::make_shared<Stream>(chief_address_, options_.heartbeat_timeout);
  {
    MutexLock lock(&mutex_);
    if (stopping_) return absl::CancelledError("the daemon shuts down");
    stream_ = stream;
    last_heard_ = absl::Now();
    silence_ = absl::OkStatus();
  }
  v1::WorkerMessage hello;
  *hello.mutable_hello() = self_;
  const JobRunner::Held held = runner_->held();
  hello.mutable_hello()->set_job_id(held.job_id);
  hello.mutable_hello()->set_generation(held.generation);
  stream->Write(hello);
  v1::ChiefMessage message;
  while (stream->Read(&message)) Handle(message);
  const absl::Status status = EndOf(stream.get());
  Lost(status);
  return status;
}

absl::Status ChiefLink::EndOf(Stream* stream) {
  const absl::Status status = stream->Finish();
  MutexLock lock(&mutex_);
  if (!silence_.ok()) return silence_;
  return status.ok() ? absl::UnavailableError("the chief has closed the connection") : status;
}

void ChiefLink::Handle(const v1::ChiefMessage& message) {
  {
    MutexLock lock(&mutex_);
    last_heard_ = absl::Now();
    if (message.has_welcome()) {
      joined_ = true;
      ever_joined_ = true;
    }
  }
  if (message.has_welcome()) LOG(INFO) << "joined the cluster of rank 0 (" << chief_address_ << ")";
  if (message.has_start()) runner_->Start(message.start(), std::make_shared<FitListener>());
  if (message.has_end()) runner_->End(message.end());
}

void ChiefLink::Lost(const absl::Status& why) {
  {
    MutexLock lock(&mutex_);
    if (!joined_ || stopping_) return;
    joined_ = false;
    last_error_ = why;
  }
  LOG(WARNING) << "rank 0 (" << chief_address_ << ") lost: " << why.message();
  runner_->EndAll(MakePeerLostStatus(0, chief_address_, why.message()));
  on_lost_();
}

void ChiefLink::KeepTime() {
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat();
  while (true) {
    std::shared_ptr<Stream> stream;
    bool silent = false;
    {
      MutexLock lock(&mutex_);
      if (mutex_.AwaitWithDeadline(Condition(&stopping_), absl::Now() + options_.heartbeat_interval)) return;
      stream = stream_;
      const absl::Duration heard_ago = absl::Now() - last_heard_;
      silent = heard_ago >= options_.heartbeat_timeout;
      if (silent && silence_.ok()) {
        silence_ = absl::UnavailableError(absl::StrCat(
            "no heartbeat for ", absl::FormatDuration(absl::Trunc(heard_ago, absl::Milliseconds(10)))));
      }
    }
    if (stream == nullptr) continue;
    if (silent) {
      stream->Cancel();
    } else {
      stream->Write(heartbeat);
    }
  }
}

}  // namespace lockstep

#include "worker/membership_service.h"

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "worker/rpc_status.h"

namespace lockstep {
namespace {

using JoinStream = grpc::ServerBidiReactor<v1::WorkerMessage, v1::ChiefMessage>;

// A worker that does not read for so long that this many messages wait is as good as lost.
constexpr size_t kMostQueuedMessages = 1000;

class JoinReactor;

// What the chief holds of a stream. Outlives the reactor, which gRPC deletes at the end of the call.
class StreamLink : public MemberLink {
 public:
  StreamLink(JoinReactor* reactor, grpc::CallbackServerContext* context)
      : reactor_(reactor), context_(context) {}

  void Send(const v1::ChiefMessage& message) override;
  void Close(const absl::Status& why) override;

  // From the reactor.
  void OnWriteDone(bool ok);
  void OnDone();

 private:
  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishIfIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  JoinReactor* reactor_ ABSL_GUARDED_BY(mutex_);                // null once the call has ended
  grpc::CallbackServerContext* const context_;                  // lives as long as the reactor
  std::deque<v1::ChiefMessage> queue_ ABSL_GUARDED_BY(mutex_);  // the front is being written if writing_
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> close_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

class JoinReactor : public JoinStream {
 public:
  JoinReactor(Chief* chief, grpc::CallbackServerContext* context)
      : chief_(chief), link_(std::make_shared<StreamLink>(this, context)) {
    StartRead(&message_);
  }

  // A read is always under way until the link is closed, so a call that is cancelled ends here too: OnCancel
  // would run beside this.
  void OnReadDone(bool ok) override {
    if (!ok) return Disconnect("connection closed");
    if (!hello_.has_value()) {
      if (!message_.has_hello())
        return link_->Close(absl::InvalidArgumentError("the first message must be hello"));
      const absl::Status joined = chief_->OnHello(message_.hello(), link_);
      if (!joined.ok()) return link_->Close(joined);
      hello_ = message_.hello();
    } else {
      chief_->OnMessage(*hello_, message_);
    }
    StartRead(&message_);
  }
  void OnWriteDone(bool ok) override { link_->OnWriteDone(ok); }
  void OnDone() override {
    link_->OnDone();
    delete this;
  }

 private:
  void Disconnect(const std::string& why) {
    if (hello_.has_value()) chief_->OnDisconnect(*hello_, why);
    link_->Close(absl::OkStatus());
  }

  Chief* const chief_;
  const std::shared_ptr<StreamLink> link_;
  v1::WorkerMessage message_;
  std::optional<v1::Identity> hello_;
};

void StreamLink::Send(const v1::ChiefMessage& message) {
  MutexLock lock(&mutex_);
  if (reactor_ == nullptr || close_.has_value() || queue_.size() >= kMostQueuedMessages) return;
  queue_.push_back(message);
  if (!writing_) WriteNextLocked();
}

void StreamLink::WriteNextLocked() {
  writing_ = true;
  reactor_->StartWrite(&queue_.front());
}

void StreamLink::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = false;
  queue_.pop_front();
  if (!ok) queue_.clear();
  if (!queue_.empty()) return WriteNextLocked();
  FinishIfIdleLocked();
}

// What is queued still goes out; a peer that reads no more is cut off.
void StreamLink::Close(const absl::Status& why) {
  MutexLock lock(&mutex_);
  if (reactor_ == nullptr || close_.has_value()) return;
  close_ = why;
  FinishIfIdleLocked();
  if (!finished_) context_->TryCancel();
}

void StreamLink::FinishIfIdleLocked() {
  if (writing_ || !close_.has_value() || finished_) return;
  finished_ = true;
  reactor_->Finish(ToGrpcStatus(*close_));
}

void StreamLink::OnDone() {
  MutexLock lock(&mutex_);
  reactor_ = nullptr;
}

class RefusedReactor : public JoinStream {
 public:
  explicit RefusedReactor(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerUnaryReactor* MembershipService::Identify(grpc::CallbackServerContext* context,
                                                      const v1::IdentifyRequest*, v1::Identity* response) {
  *response = self_;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

JoinStream* MembershipService::Join(grpc::CallbackServerContext* context) {
  if (chief_ != nullptr) return new JoinReactor(chief_, context);
  return new RefusedReactor(
      grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                   absl::StrCat("this is rank ", self_.rank(), " (", DescribeProcess(self_),
                                "), not the chief; rank 0 is ", chief_address_)));
}

}  // namespace lockstep

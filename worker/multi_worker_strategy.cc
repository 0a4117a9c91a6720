#include "worker/multi_worker_strategy.h"

#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "worker/job_runner.h"
#include "worker/node.h"
#include "worker/tf_config.h"

namespace lockstep {
namespace {

// The only job of the cluster is the user's program: the body hands its communicator over and waits for the
// program's end. Thread-safe.
class ProgramJob : public JobBody {
 public:
  absl::StatusOr<v1::JobSummary> Run(const v1::StartJob&, Communicator* communicator, FitListener*) override {
    MutexLock lock(&mutex_);
    communicator_ = communicator;
    mutex_.Await(Condition(this, &ProgramJob::HasResult));
    communicator_ = nullptr;
    if (!result_->ok()) return *result_;
    return v1::JobSummary();
  }

  // The timeout bounds the time between two collective calls of the program.
  CommunicatorOptions Communication(const v1::StartJob&) const override {
    CommunicatorOptions options;
    options.shared_memory = SharedMemoryUse::kAuto;
    return options;
  }

  // Waits for the communicator; null if `End` comes first.
  Communicator* AwaitCommunicator() {
    MutexLock lock(&mutex_);
    mutex_.Await(Condition(this, &ProgramJob::HasCommunicatorOrResult));
    if (result_.has_value()) return nullptr;
    handed_over_ = true;
    return communicator_;
  }

  // From the program, which will not use the communicator any more.
  void End(const absl::Status& result) {
    MutexLock lock(&mutex_);
    if (!result_.has_value()) result_ = result;
  }

  // The cluster has ended the job. A program that has the communicator keeps it, aborted, until its own End.
  void EndUnlessHandedOver(const absl::Status& result) {
    MutexLock lock(&mutex_);
    if (!handed_over_ && !result_.has_value()) result_ = result;
  }

 private:
  bool HasResult() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return result_.has_value(); }
  bool HasCommunicatorOrResult() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return communicator_ != nullptr || result_.has_value();
  }

  Mutex mutex_;
  Communicator* communicator_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool handed_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> result_ ABSL_GUARDED_BY(mutex_);
};

class MultiWorkerStrategyImpl : public MultiWorkerStrategy {
 public:
  MultiWorkerStrategyImpl() = default;
  ~MultiWorkerStrategyImpl() override {
    if (node_ == nullptr) return;
    job_->End(strategy_ != nullptr ? strategy_->status() : absl::OkStatus());
    if (waiter_.joinable()) waiter_.join();
    node_->Stop("the program has ended");
  }

  absl::Status Join(const NodeOptions& node_options, const StrategyOptions& strategy_options) {
    auto job = std::make_unique<ProgramJob>();
    job_ = job.get();
    ASSIGN_OR_RETURN(node_, Node::Start(node_options, std::move(job)));
    waiter_ = std::thread([this] {
      // A program holds its communicator for ever: it cannot be handed another one.
      v1::JobSpec spec;
      spec.set_on_failure(v1::JobSpec::FAIL);
      absl::StatusOr<v1::Job> ended = node_->RunOwnJob(spec, &silent_);
      if (ended.ok() && ended->state() != v1::SUCCEEDED) ended = absl::AbortedError(ended->error());
      join_error_ = ended.status();
      job_->EndUnlessHandedOver(join_error_.ok() ? absl::CancelledError("the cluster has ended")
                                                 : join_error_);
    });
    Communicator* const communicator = job_->AwaitCommunicator();
    if (communicator == nullptr) {
      waiter_.join();
      return join_error_;
    }
    strategy_ = std::make_unique<Strategy>(communicator, strategy_options);
    return absl::OkStatus();
  }

  Strategy::Scope EnterScope() override { return strategy_->EnterScope(); }
  int rank() const override { return strategy_->rank(); }
  int world_size() const override { return strategy_->world_size(); }

 private:
  FitListener silent_;
  ProgramJob* job_ = nullptr;  // owned by the node
  std::unique_ptr<Node> node_;
  std::unique_ptr<Strategy> strategy_;
  std::thread waiter_;
  absl::Status join_error_;  // of the waiter; read after it was joined
};

}  // namespace

absl::StatusOr<std::unique_ptr<MultiWorkerStrategy>> MultiWorkerStrategy::FromEnvironment(
    const MultiWorkerOptions& options) {
  RETURN_IF_ERROR(InitProcess("lockstep"));
  const char* tf_config = std::getenv("TF_CONFIG");
  return Create(tf_config == nullptr ? "" : tf_config, options);
}

absl::StatusOr<std::unique_ptr<MultiWorkerStrategy>> MultiWorkerStrategy::Create(
    absl::string_view tf_config, const MultiWorkerOptions& options) {
  NodeOptions node;
  ASSIGN_OR_RETURN(node.cluster, ParseTfConfig(tf_config));
  node.trust = options.insecure_network ? NetworkTrust::kInsecure : NetworkTrust::kLoopbackOnly;
  node.accepts_jobs = false;
  node.join_timeout = options.join_timeout;
  node.heartbeat_interval = options.heartbeat_interval;
  node.heartbeat_timeout = options.heartbeat_timeout;
  auto strategy = std::make_unique<MultiWorkerStrategyImpl>();
  RETURN_IF_ERROR(strategy->Join(node, options.strategy));
  return strategy;
}

}  // namespace lockstep

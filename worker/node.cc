#include "worker/node.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "collective/transport/grpc_transport.h"
#include "worker/chief.h"
#include "worker/chief_link.h"
#include "worker/grpc_lifetime.h"
#include "worker/grpc_prober.h"
#include "worker/host_port.h"
#include "worker/identity.h"
#include "worker/job_generations.h"
#include "worker/job_table.h"
#include "worker/membership_service.h"
#include "worker/trainer_service.h"

namespace lockstep {
namespace {

// How long calls of clients may take to end at shutdown.
constexpr absl::Duration kServerGrace = absl::Seconds(1);
// How soon a worker that waits for its job notices that the chief is gone.
constexpr absl::Duration kJoinedCheck = absl::Milliseconds(200);

// The data plane of this rank: groups over gRPC streams between all ranks of the cluster.
class GrpcConnector : public GroupConnector {
 public:
  GrpcConnector(GrpcTransportService* service, const ClusterConfig& cluster)
      : service_(service), cluster_(cluster) {}

  absl::StatusOr<std::unique_ptr<Transport>> Connect(uint64_t job, int64_t generation, int connections,
                                                     absl::Time deadline) override {
    return service_->Connect(GroupOptions{job, generation, cluster_.rank, cluster_.addresses, connections},
                             deadline);
  }
  void Cancel(uint64_t job, int64_t generation, const absl::Status& why) override {
    service_->AbortGroup(job, generation, why);
  }

 private:
  GrpcTransportService* const service_;
  const ClusterConfig cluster_;
};

// --bind HOST or HOST:PORT. Unlike an address in TF_CONFIG it may be a wildcard: nobody dials it.
absl::StatusOr<HostPort> ParseBind(const std::string& bind, int own_port) {
  for (const absl::string_view wildcard : {"0.0.0.0", "[::]"}) {
    absl::string_view rest = bind;
    if (!absl::ConsumePrefix(&rest, wildcard)) continue;
    const std::string host(wildcard == "[::]" ? "::" : wildcard);
    if (rest.empty()) return HostPort{host, own_port};
    absl::StatusOr<HostPort> port = ParseHostPort(absl::StrCat("127.0.0.1", rest));
    if (port.ok()) return HostPort{host, port->port};
  }
  if (absl::StatusOr<HostPort> both = ParseHostPort(bind); both.ok()) return both;
  const absl::StatusOr<HostPort> host = ParseHostPort(absl::StrCat(bind, ":1"));
  if (host.ok()) return HostPort{host->host, own_port};
  return absl::InvalidArgumentError(absl::StrCat("--bind ", Quoted(bind), " is neither HOST nor HOST:PORT"));
}

absl::StatusOr<HostPort> ListenTarget(const NodeOptions& options) {
  HostPort own{"127.0.0.1", options.port};
  if (options.cluster.from_environment) {
    ASSIGN_OR_RETURN(own, ParseHostPort(options.cluster.addresses[options.cluster.rank]));
  }
  return options.bind.empty() ? own : ParseBind(options.bind, own.port);
}

v1::Identity SelfIdentity(const NodeOptions& options, const std::string& address) {
  v1::Identity self = MakeIdentity(options.cluster, address);
  self.set_has_own_job(!options.accepts_jobs);
  return self;
}

// Ranks that TF_CONFIG puts on one host have the same number.
std::vector<int> HostOfRank(const std::vector<std::string>& addresses) {
  std::map<std::string, int> number_of_host;
  std::vector<int> host_of_rank;
  for (const std::string& address : addresses) {
    const std::string host = address.substr(0, address.rfind(':'));
    host_of_rank.push_back(number_of_host.emplace(host, number_of_host.size()).first->second);
  }
  return host_of_rank;
}

GrpcTransportOptions TransportOptions(const NodeOptions& options) {
  GrpcTransportOptions transport;
  transport.own_address = options.cluster.addresses[options.cluster.rank];
  transport.socket.congestion_control = options.congestion_control;
  // A frozen rank is for heartbeats to find.
  transport.keepalive_timeout = std::max(transport.keepalive_timeout, options.heartbeat_timeout);
  return transport;
}

class NodeImpl : public Node {
 public:
  NodeImpl(const NodeOptions& options, std::unique_ptr<JobBody> body, const std::string& address)
      : options_(options),
        body_(std::move(body)),
        address_(address),
        self_(SelfIdentity(options, address)),
        chief_address_(options.cluster.addresses[0]),
        transport_service_(TransportOptions(options)),
        connector_(&transport_service_, options.cluster) {}

  ~NodeImpl() override { Stop("the daemon shuts down"); }

  absl::Status Listen();
  const std::string& address() const override { return address_; }
  absl::StatusOr<v1::Job> RunOwnJob(const v1::JobSpec& spec, FitListener* progress) override;
  absl::Status failure() const override { return link_ != nullptr ? link_->superseded() : absl::OkStatus(); }
  void Stop(const std::string& why) override;

 private:
  bool is_chief() const { return self_.rank() == 0; }
  void MakeServices();
  void OnOutcome(const v1::JobOutcome& outcome, const v1::JobSummary& summary);
  void OnJobEnd(const v1::EndJob& end);
  absl::StatusOr<v1::Job> RunAsChief(const v1::JobSpec& spec, FitListener* progress);
  absl::StatusOr<v1::Job> RunAsWorker(const v1::JobSpec& spec);
  absl::Status AwaitJobEnd(const v1::JobSpec& spec);
  absl::Duration PatienceWithChief(const v1::JobSpec& spec) const;
  v1::Cluster DescribeOwnView() const;
  bool EndedOrStopped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || job_end_.has_value();
  }
  bool HasSucceeded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outcome_.has_value() && outcome_->code() == 0;
  }

  const NodeOptions options_;
  const std::unique_ptr<JobBody> body_;
  std::string address_;
  const v1::Identity self_;
  const std::string chief_address_;

  GrpcTransportService transport_service_;
  GrpcConnector connector_;
  GrpcProber prober_;
  JobTable jobs_;
  // Of the chief:
  std::unique_ptr<Chief> chief_;
  std::unique_ptr<ChiefTrainerService> chief_service_;
  // Of every other rank:
  std::unique_ptr<ChiefLink> link_;
  std::unique_ptr<ForwardingTrainerService> forwarding_service_;

  std::unique_ptr<MembershipService> membership_service_;
  std::unique_ptr<JobRunner> runner_;
  std::unique_ptr<grpc::Server> server_;

  Mutex mutex_;
  // On workers:
  std::optional<v1::JobOutcome> outcome_ ABSL_GUARDED_BY(mutex_);  // of the last generation
  std::optional<v1::EndJob> job_end_ ABSL_GUARDED_BY(mutex_);      // of the last job
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

void NodeImpl::MakeServices() {
  std::vector<std::string> names = options_.cluster.names;
  if (is_chief()) {
    ChiefOptions chief_options;
    chief_options.join_timeout = options_.join_timeout;
    chief_options.heartbeat_interval = options_.heartbeat_interval;
    chief_options.heartbeat_timeout = options_.heartbeat_timeout;
    chief_ = std::make_unique<Chief>(chief_options, options_.cluster.addresses, self_, &jobs_, &prober_);
    chief_service_ =
        std::make_unique<ChiefTrainerService>(&jobs_, chief_.get(), names, options_.accepts_jobs);
  } else {
    ChiefLinkOptions link_options;
    link_options.join_timeout = options_.join_timeout;
    link_options.heartbeat_interval = options_.heartbeat_interval;
    link_options.heartbeat_timeout = options_.heartbeat_timeout;
    link_ = std::make_unique<ChiefLink>(link_options, self_, chief_address_);
    forwarding_service_ = std::make_unique<ForwardingTrainerService>(
        chief_address_, [this] { return link_->LostError(); }, [this] { return DescribeOwnView(); });
  }
  membership_service_ = std::make_unique<MembershipService>(self_, chief_address_, chief_.get());
}

absl::Status NodeImpl::Listen() {
  MakeServices();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Two servers on one port would each get half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  transport_service_.RegisterWith(&builder);
  int port = 0;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials(), &port);
  if (chief_service_ != nullptr) builder.RegisterService(chief_service_.get());
  if (forwarding_service_ != nullptr) builder.RegisterService(forwarding_service_.get());
  builder.RegisterService(membership_service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", address_, ": address already in use"));
  }
  address_ = absl::StrCat(address_.substr(0, address_.rfind(':')), ":", port);
  transport_service_.Start();

  JobRunner::Options runner_options;
  runner_options.rank = self_.rank();
  runner_options.host_of_rank = HostOfRank(options_.cluster.addresses);
  runner_ = std::make_unique<JobRunner>(
      runner_options, &connector_, body_.get(),
      [this](const v1::JobOutcome& outcome, const v1::JobSummary& summary) { OnOutcome(outcome, summary); },
      [this](const v1::EndJob& end) { OnJobEnd(end); });
  if (chief_ != nullptr) chief_->Start(runner_.get());
  if (link_ != nullptr) link_->Start(runner_.get(), [this] { forwarding_service_->EndWatches(); });
  return absl::OkStatus();
}

void NodeImpl::OnOutcome(const v1::JobOutcome& outcome, const v1::JobSummary& summary) {
  if (chief_ != nullptr) return chief_->OnLocalOutcome(outcome, summary);
  link_->Report(outcome);
  MutexLock lock(&mutex_);
  outcome_ = outcome;
}

absl::StatusOr<v1::Job> NodeImpl::RunOwnJob(const v1::JobSpec& spec, FitListener* progress) {
  return is_chief() ? RunAsChief(spec, progress) : RunAsWorker(spec);
}

absl::StatusOr<v1::Job> NodeImpl::RunAsChief(const v1::JobSpec& spec, FitListener* progress) {
  ASSIGN_OR_RETURN(const std::string id, jobs_.Add(spec, ""));
  int64_t sequence = 0, progress_seen = 0;
  bool was_running = false;
  while (true) {
    ASSIGN_OR_RETURN(const JobTable::Events news,
                     jobs_.WaitForEvents(id, sequence, &progress_seen, absl::Now() + absl::Minutes(1)));
    for (const v1::JobEvent& event : news.events) {
      if (event.has_progress()) {
        progress->OnProgress(event.progress());
        continue;
      }
      sequence = event.sequence();
      if (event.has_fit_begin()) progress->OnFitBegin(event.fit_begin());
      if (event.has_epoch_end()) progress->OnEpochEnd(event.epoch_end());
      if (!event.message().empty()) progress->OnMessage(event.message());
      was_running = was_running || (event.has_state() && event.state().state() == v1::RUNNING);
    }
    if (!news.ended) continue;
    ASSIGN_OR_RETURN(v1::Job job, jobs_.Get(id));
    if (job.state() == v1::FAILED && !was_running) return absl::UnavailableError(job.error());
    return job;
  }
}

void NodeImpl::OnJobEnd(const v1::EndJob& end) {
  MutexLock lock(&mutex_);
  job_end_ = end;
}

absl::StatusOr<v1::Job> NodeImpl::RunAsWorker(const v1::JobSpec& spec) {
  RETURN_IF_ERROR(AwaitJobEnd(spec));
  MutexLock lock(&mutex_);
  v1::Job job;
  if (HasSucceeded()) {
    job.set_state(v1::SUCCEEDED);
  } else if (job_end_.has_value()) {
    if (!outcome_.has_value() && job_end_->state() == v1::FAILED)
      return absl::UnavailableError(job_end_->error());
    job.set_state(job_end_->state());
    job.set_error(job_end_->error());
  } else {
    job.set_state(v1::FAILED);
    job.set_error(outcome_.has_value() ? outcome_->message() : "the daemon was stopped");
  }
  return job;
}

// How long the chief may be away before this rank gives the job up.
absl::Duration NodeImpl::PatienceWithChief(const v1::JobSpec& spec) const {
  if (spec.on_failure() == v1::JobSpec::FAIL || !link_->ever_joined()) return options_.join_timeout;
  return std::max(options_.join_timeout, RejoinTimeout(spec));
}

// A job that cannot start never reaches this rank, and its chief leaves: then the wait ends by time.
absl::Status NodeImpl::AwaitJobEnd(const v1::JobSpec& spec) {
  absl::Time last_joined = absl::Now();
  while (true) {
    const bool joined = link_->joined();
    if (joined) last_joined = absl::Now();
    {
      MutexLock lock(&mutex_);
      if (mutex_.AwaitWithDeadline(Condition(this, &NodeImpl::EndedOrStopped), absl::Now() + kJoinedCheck))
        return absl::OkStatus();
      // No other generation follows, or the chief has left behind the last barrier.
      if (outcome_.has_value() && (spec.on_failure() == v1::JobSpec::FAIL || (HasSucceeded() && !joined)))
        return absl::OkStatus();
    }
    RETURN_IF_ERROR(failure());
    const absl::Duration patience = PatienceWithChief(spec);
    if (absl::Now() - last_joined < patience) continue;
    return absl::UnavailableError(
        absl::StrCat("rank 0 (", chief_address_, ") cannot be joined: ", link_->last_error().message(),
                     " (waited ", absl::FormatDuration(patience),
                     patience == options_.join_timeout ? ", --join_timeout)" : ", rejoin_timeout_seconds)"));
  }
}

v1::Cluster NodeImpl::DescribeOwnView() const {
  v1::Cluster cluster;
  for (int rank = 0; rank < options_.cluster.world_size(); ++rank) {
    v1::Cluster::Member* member = cluster.add_members();
    member->set_rank(rank);
    member->set_address(options_.cluster.addresses[rank]);
    member->set_task(options_.cluster.names[rank]);
    member->set_is_chief(rank == 0);
    member->set_state(rank == self_.rank() ? "this daemon" : "unknown");
  }
  cluster.mutable_members(0)->set_state("missing");
  cluster.mutable_members(0)->set_detail(std::string(link_->last_error().message()));
  return cluster;
}

void NodeImpl::Stop(const std::string& why) {
  {
    MutexLock lock(&mutex_);
    if (stopped_) return;
    stopped_ = true;
  }
  // First the chief, which tells ranks and watchers the end of a running job; then what runs it; then the
  // server.
  if (chief_ != nullptr) chief_->Stop(why);
  if (chief_service_ != nullptr) chief_service_->Stop();
  if (link_ != nullptr) link_->Stop(why);
  runner_.reset();
  if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(absl::Now() + kServerGrace));
  transport_service_.Shutdown();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Node>> Node::Start(const NodeOptions& options, std::unique_ptr<JobBody> body) {
  ASSIGN_OR_RETURN(const HostPort target, ListenTarget(options));
  ASSIGN_OR_RETURN(const std::string address,
                   ResolveListenAddress(target, options.trust, absl::Now() + options.join_timeout));
  NodeOptions resolved = options;
  if (!options.cluster.from_environment) resolved.cluster.addresses = {address};
  KeepGrpcInitialized();
  auto node = std::make_unique<NodeImpl>(resolved, std::move(body), address);
  RETURN_IF_ERROR(node->Listen());
  return node;
}

}  // namespace lockstep

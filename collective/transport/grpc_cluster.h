// Servers of all ranks in one process, on ports that the system chooses or on unix-domain sockets. For tests.
#ifndef LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CLUSTER_H_
#define LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CLUSTER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_matchers.h"
#include "collective/transport/grpc_transport.h"

namespace lockstep {

// One server with its transport service.
class GrpcNode {
 public:
  // With an own_address, it is reached through a unix-domain socket under that name, otherwise through TCP.
  explicit GrpcNode(const GrpcTransportOptions& options = GrpcTransportOptions()) : service_(options) {
    grpc::ServerBuilder builder;
    service_.RegisterWith(&builder);
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    server_ = builder.BuildAndStart();
    address_ = options.own_address.empty() ? absl::StrCat("127.0.0.1:", port) : options.own_address;
    service_.Start();
  }
  ~GrpcNode() {
    server_->Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(5)));
    service_.Shutdown();
  }

  GrpcTransportService* service() { return &service_; }
  const std::string& address() const { return address_; }

 private:
  GrpcTransportService service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

enum class Sockets { kTcp, kUnix };

class GrpcCluster {
 public:
  explicit GrpcCluster(int world_size, GrpcTransportOptions options = GrpcTransportOptions(),
                       Sockets sockets = Sockets::kTcp) {
    // Of all processes that run at once in this network namespace, whatever their process namespaces.
    std::random_device random;
    for (int rank = 0; rank < world_size; ++rank) {
      // Nobody can be reached under this name but through the socket.
      if (sockets == Sockets::kUnix) options.own_address = absl::StrCat(random(), ".", random(), ".test:1");
      nodes_.push_back(std::make_unique<GrpcNode>(options));
    }
  }

  GrpcTransportService* service(int rank) { return nodes_[rank]->service(); }
  GroupOptions Group(int rank, uint64_t job, int64_t generation) const {
    GroupOptions group;
    group.job = job;
    group.generation = generation;
    group.rank = rank;
    for (const std::unique_ptr<GrpcNode>& node : nodes_) group.addresses.push_back(node->address());
    return group;
  }
  void Stop(int rank) { nodes_[rank].reset(); }

  // Connects all ranks at once.
  std::vector<std::unique_ptr<Transport>> Connect(uint64_t job, int64_t generation, int connections = 1) {
    std::vector<std::unique_ptr<Transport>> group(nodes_.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < nodes_.size(); ++rank) {
      threads.emplace_back([this, &group, rank, job, generation, connections] {
        GroupOptions options = Group(static_cast<int>(rank), job, generation);
        options.connections = connections;
        absl::StatusOr<std::unique_ptr<Transport>> transport =
            service(static_cast<int>(rank))->Connect(options, absl::Now() + absl::Seconds(30));
        EXPECT_OK(transport);
        if (transport.ok()) group[rank] = *std::move(transport);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return group;
  }

 private:
  std::vector<std::unique_ptr<GrpcNode>> nodes_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_TRANSPORT_GRPC_CLUSTER_H_

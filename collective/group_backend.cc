#include "collective/group_backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collective/hierarchical_backend.h"
#include "collective/shared_memory/shared_memory_backend.h"
#include "collective/transport/subset_transport.h"
#include "collective/transport_backend.h"

namespace lockstep {
namespace {

// A group without a hierarchy, or one of those that a hierarchy is made of.
struct PlainBackend {
  std::unique_ptr<Backend> backend;
  bool shares_memory = false;
  std::string obstacle;    // to sharing memory, if that was asked for
  std::string algorithms;  // by messages, if there was a choice
};

absl::StatusOr<PlainBackend> MakePlainBackend(Transport* transport, const CommunicatorOptions& options) {
  PlainBackend plain;
  std::unique_ptr<TransportBackend> messages = MakeTransportBackend(transport, options);
  const bool alone = transport->world_size() == 1;
  if (options.shared_memory == SharedMemoryUse::kAuto && !alone) {
    ASSIGN_OR_RETURN(SharedMemoryOutcome shared, ConnectSharedMemory(transport, messages.get(), options));
    plain.backend = std::move(shared.backend);
    plain.obstacle = std::move(shared.obstacle);
  }
  plain.shares_memory = plain.backend != nullptr;
  if (plain.shares_memory) return plain;
  if (options.algorithm == Algorithm::kAuto && !alone) {
    RETURN_IF_ERROR(messages->MeasureCosts());
    plain.algorithms = messages->costs().ToString();
  }
  plain.backend = std::move(messages);
  return plain;
}

absl::StatusOr<GroupBackend> MakeFlat(Transport* transport, const CommunicatorOptions& options,
                                      std::vector<int>* sharing) {
  ASSIGN_OR_RETURN(PlainBackend plain, MakePlainBackend(transport, options));
  GroupBackend group;
  group.medium = plain.shares_memory ? "shared memory" : "messages";
  if (!plain.obstacle.empty()) absl::StrAppend(&group.medium, ": ", plain.obstacle);
  if (plain.shares_memory) {
    for (int rank = 0; rank < transport->world_size(); ++rank) sharing->push_back(rank);
  }
  group.algorithms = std::move(plain.algorithms);
  group.backend = std::move(plain.backend);
  return group;
}

absl::StatusOr<GroupBackend> MakeHierarchy(Transport* transport, const CommunicatorOptions& options,
                                           const Hosts& hosts, std::vector<int>* sharing) {
  enum { kLocal = 1, kBetween = 2 };  // numbers of the subsets
  const auto own_host = std::find_if(hosts.begin(), hosts.end(), [transport](const std::vector<int>& ranks) {
    return std::binary_search(ranks.begin(), ranks.end(), transport->rank());
  });
  const int place =
      static_cast<int>(std::find(own_host->begin(), own_host->end(), transport->rank()) - own_host->begin());
  const int num_shares = NumShares(hosts);
  GroupBackend group;
  HierarchyBackends backends;
  backends.all = MakeTransportBackend(transport, options);

  CommunicatorOptions local_options = options;
  local_options.compression = Compression::kNone;
  group.subsets.push_back(MakeSubsetTransport(transport, *own_host, kLocal));
  ASSIGN_OR_RETURN(PlainBackend local, MakePlainBackend(group.subsets.back().get(), local_options));
  backends.local = std::move(local.backend);
  if (local.shares_memory) *sharing = *own_host;

  if (place < num_shares) {
    std::vector<int> ranks;
    for (const std::vector<int>& host : hosts) ranks.push_back(host[place]);
    CommunicatorOptions between_options = options;
    between_options.shared_memory = SharedMemoryUse::kNever;
    group.subsets.push_back(MakeSubsetTransport(transport, ranks, kBetween));
    ASSIGN_OR_RETURN(PlainBackend between, MakePlainBackend(group.subsets.back().get(), between_options));
    backends.between = std::move(between.backend);
    group.algorithms = std::move(between.algorithms);
  }
  group.medium =
      absl::StrCat("messages between ", hosts.size(), " hosts, ",
                   local.shares_memory || own_host->size() == 1 ? "shared memory" : "messages", " within");
  if (!local.obstacle.empty()) absl::StrAppend(&group.medium, ": ", local.obstacle);
  group.backend = MakeHierarchicalBackend(std::move(backends), place, static_cast<int>(own_host->size()),
                                          num_shares, options.compression);
  return group;
}

// From this rank to each one.
std::string PathsFrom(const Transport& transport, const std::vector<int>& sharing) {
  std::string paths;
  for (int peer = 0; peer < transport.world_size(); ++peer) {
    const bool shares = std::find(sharing.begin(), sharing.end(), peer) != sharing.end();
    const Path path = peer == transport.rank() ? Path::kSelf
                      : shares                 ? Path::kSharedMemory
                                               : transport.PathTo(peer);
    paths += static_cast<char>(path);
  }
  return paths;
}

}  // namespace

absl::StatusOr<GroupBackend> MakeGroupBackend(Transport* transport, const CommunicatorOptions& options) {
  const Hosts hosts = GroupByHost(options.host_of_rank);
  const bool hierarchy = options.algorithm == Algorithm::kAuto && IsHierarchy(hosts);
  std::vector<int> sharing;
  ASSIGN_OR_RETURN(GroupBackend group, hierarchy ? MakeHierarchy(transport, options, hosts, &sharing)
                                                 : MakeFlat(transport, options, &sharing));
  group.paths = PathsFrom(*transport, sharing);
  return group;
}

}  // namespace lockstep

// All-reduce of ranks on several hosts, some of which have several ranks: within each host first, then
// between the hosts, so that each byte crosses a network once per host and not once per rank.
//
//   1. all ranks of a host sum their buffers
//   2. rank k of each host sums share k of the buffer with ranks k of the other hosts, for all k below K,
//      the least number of ranks on any host
//   3. rank k passes share k on to the other ranks of its host
//
// So sums are made in another order than without hosts: ring order within a host, then ring order of the
// hosts. It follows from which ranks are on which host alone; whether ranks of a host share memory or
// exchange messages changes no bit.
#ifndef LOCKSTEP_COLLECTIVE_HIERARCHICAL_BACKEND_H_
#define LOCKSTEP_COLLECTIVE_HIERARCHICAL_BACKEND_H_

#include <memory>
#include <vector>

#include "collective/backend.h"

namespace lockstep {

// The ranks of each host, ascending; hosts in the order of their first ranks.
using Hosts = std::vector<std::vector<int>>;

// host_of_rank[r] names the host of rank r, by any number.
Hosts GroupByHost(const std::vector<int>& host_of_rank);

// Whether there are several hosts, and several ranks on one of them.
bool IsHierarchy(const Hosts& hosts);

// Of each host, so many ranks exchange with the other hosts.
int NumShares(const Hosts& hosts);

// The backends of one rank's groups.
struct HierarchyBackends {
  std::unique_ptr<Backend> all;    // of all ranks, by messages
  std::unique_ptr<Backend> local;  // of this host's
  std::unique_ptr<Backend>
      between;  // of the ranks with this one's place on their hosts; null from place K on
};

// `place` is this rank's on its host, of `num_local`. `compression` is that of `between`; the others have
// none.
std::unique_ptr<Backend> MakeHierarchicalBackend(HierarchyBackends backends, int place, int num_local,
                                                 int num_shares, Compression compression);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_HIERARCHICAL_BACKEND_H_

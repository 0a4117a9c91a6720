// Finds out whether all ranks of a group are on one host and can pass memory to each other, and connects
// them.
//
//   each rank                           over the group's transport      over local sockets
//   opens a listener                 -> boot id, name, token
//   connects to all lower ranks                                      -> token, rank
//   accepts from all higher ranks    -> what stood in the way, if anything
//
// What stands in the way of one rank (another host, another network namespace, no descriptors left) is told
// to all, so that all of them decide alike.
#ifndef LOCKSTEP_COLLECTIVE_SHARED_MEMORY_HOST_LINKS_H_
#define LOCKSTEP_COLLECTIVE_SHARED_MEMORY_HOST_LINKS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/shared_memory/local_socket.h"

namespace lockstep {

// An all-gather of strings, by rank.
using Gather = std::function<absl::StatusOr<std::vector<std::string>>(const std::string& mine)>;

// What a group's ranks are called in texts.
using RankNames = std::vector<int>;

// The reason of the first rank that has one, "rank 2: no memory left"; empty if all are OK. The same on all
// ranks. Errors: those of `gather`.
absl::StatusOr<std::string> AgreeOnObstacle(const absl::Status& mine, const RankNames& names,
                                            const Gather& gather);

// links[r] = the connection to rank r of those that have names; `rank` itself has none. Returns what stood in
// the way, the same on all ranks, and then leaves no links. Errors: those of `gather`.
absl::StatusOr<std::string> ConnectHostLinks(int rank, const RankNames& names, const Gather& gather,
                                             std::vector<LocalSocket>* links);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_SHARED_MEMORY_HOST_LINKS_H_

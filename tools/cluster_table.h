// The ranks of a cluster as a table for people.
#ifndef LOCKSTEP_TOOLS_CLUSTER_TABLE_H_
#define LOCKSTEP_TOOLS_CLUSTER_TABLE_H_

#include <string>

namespace lockstep {

namespace v1 {
class Cluster;
}  // namespace v1

// Whether the chief answered and every rank has joined.
bool IsComplete(const v1::Cluster& cluster);

// One line per rank, and a last line that says what is missing.
std::string ClusterTable(const v1::Cluster& cluster);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_CLUSTER_TABLE_H_

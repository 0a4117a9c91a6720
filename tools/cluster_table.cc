#include "tools/cluster_table.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/trainer.pb.h"
#include "tools/text_table.h"

namespace lockstep {
namespace {

bool HasJoined(const v1::Cluster::Member& member) { return member.state() == "joined"; }

std::string OutcomeLine(const v1::Cluster& cluster) {
  std::vector<std::string> missing;
  for (const v1::Cluster::Member& member : cluster.members())
    if (!HasJoined(member)) missing.push_back(absl::StrCat(member.rank(), " (", member.address(), ")"));
  if (!cluster.error().empty())
    return absl::StrCat("The chief could not be asked: ", cluster.error(),
                        ". This is what the daemon itself knows.\n");
  if (missing.empty() && cluster.members_size() == 1) return "The only rank has joined.\n";
  if (missing.empty()) return absl::StrCat("All ", cluster.members_size(), " ranks have joined.\n");
  return absl::StrCat(missing.size(), " of ", cluster.members_size(),
                      " ranks missing: ", absl::StrJoin(missing, ", "), "\n");
}

}  // namespace

bool IsComplete(const v1::Cluster& cluster) {
  return cluster.error().empty() && cluster.members_size() > 0 &&
         std::all_of(cluster.members().begin(), cluster.members().end(), HasJoined);
}

std::string ClusterTable(const v1::Cluster& cluster) {
  TextTable table({{"rank", TextTable::Align::kRight},
                   {"task"},
                   {"address"},
                   {"state"},
                   {"version"},
                   {"pid", TextTable::Align::kRight},
                   {"host"},
                   {"detail"}});
  for (const v1::Cluster::Member& member : cluster.members()) {
    table.AddRow({absl::StrCat(member.rank()), absl::StrCat(member.task(), member.is_chief() ? " *" : ""),
                  member.address(), member.state(), member.version(),
                  member.pid() > 0 ? absl::StrCat(member.pid()) : "", member.hostname(), member.detail()});
  }
  std::string text = table.ToString() + OutcomeLine(cluster);
  if (!cluster.exchange().empty())
    absl::StrAppend(&text, "In the last job the ranks exchanged by ", cluster.exchange(), ".\n");
  return text;
}

}  // namespace lockstep

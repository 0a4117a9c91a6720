#include "tools/cluster_table.h"

#include <algorithm>
#include <set>
#include <string>
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

std::string NameOfPath(char path) {
  switch (path) {
    case 's':
      return "shared memory";
    case 'u':
      return "unix-domain sockets";
    case 't':
      return "TCP";
    default:
      return absl::StrCat("path ", std::string(1, path));  // of a later version
  }
}

// The kinds of paths between two ranks.
std::set<char> PathsIn(const v1::Cluster& cluster) {
  std::set<char> paths;
  for (const std::string& row : cluster.paths()) paths.insert(row.begin(), row.end());
  paths.erase('-');
  return paths;
}

std::string PathTable(const v1::Cluster& cluster) {
  std::vector<TextTable::Column> columns = {{"rank", TextTable::Align::kRight}};
  for (int rank = 0; rank < cluster.paths_size(); ++rank) columns.push_back({absl::StrCat(rank)});
  TextTable table(columns);
  for (int rank = 0; rank < cluster.paths_size(); ++rank) {
    std::vector<std::string> row = {absl::StrCat(rank)};
    for (const char path : cluster.paths(rank)) row.emplace_back(1, path);
    row.resize(columns.size());
    table.AddRow(row);
  }
  return table.ToString();
}

std::string ExchangeText(const v1::Cluster& cluster) {
  std::string text = absl::StrCat("In the last job the ranks exchanged by ", cluster.exchange());
  const std::set<char> paths = PathsIn(cluster);
  if (paths.size() == 1 && *paths.begin() != 's')
    absl::StrAppend(&text, ", every pair over ", NameOfPath(*paths.begin()));
  absl::StrAppend(&text, ".\n");
  if (paths.size() < 2) return text;
  std::vector<std::string> legend;
  for (const char path : paths) legend.push_back(absl::StrCat(std::string(1, path), " = ", NameOfPath(path)));
  absl::StrAppend(&text, "Each pair over ", absl::StrJoin(legend, ", "), ":\n", PathTable(cluster));
  return text;
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
  if (!cluster.exchange().empty()) absl::StrAppend(&text, ExchangeText(cluster));
  return text;
}

}  // namespace lockstep

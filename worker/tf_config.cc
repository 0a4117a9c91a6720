#include "worker/tf_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "worker/host_port.h"
#include "worker/strict_json.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr size_t kLongestConfig = size_t{1} << 20;  // Linux allows 128 KiB for a variable
constexpr int kGreatestIndex = 999'999;

struct Entry {
  int index;
  std::string address;
  std::string path;  // cluster.worker[1]
};

using Cluster = std::map<std::string, std::vector<Entry>>;

template <typename... Parts>
absl::Status Refuse(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("TF_CONFIG: ", parts...));
}

std::string KindOf(const json& value) {
  const std::string kind = value.type_name();
  if (value.is_null()) return kind;
  return absl::StrCat(kind == "array" || kind == "object" ? "an " : "a ", kind);
}

bool IsJobName(absl::string_view name) {
  for (absl::string_view known : {"chief", "master", "worker", "ps", "evaluator"}) {
    if (name == known) return true;
  }
  return false;
}

bool IsBystander(absl::string_view job) { return job == "ps" || job == "evaluator"; }

// A whole number from 0 on, as a JSON number or a string of digits.
absl::StatusOr<int> ReadIndex(absl::string_view path, const json& value) {
  double number = -1;
  if (value.is_number()) number = value.get<double>();
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
    if (!digits || !absl::SimpleAtod(text, &number)) {
      return Refuse(path, " must be a whole number from 0 on, not ", Quoted(text));
    }
  }
  if (!value.is_number() && !value.is_string()) {
    return Refuse(path, " must be a whole number from 0 on, not ", KindOf(value));
  }
  if (!(number >= 0) || number > kGreatestIndex || number != std::floor(number)) {
    return Refuse(path, " must be a whole number from 0 to ", kGreatestIndex, ", not ", number);
  }
  return static_cast<int>(number);
}

absl::StatusOr<Entry> ReadEntry(int index, const std::string& path, const json& value) {
  if (!value.is_string()) return Refuse(path, " must be a \"host:port\" string, not ", KindOf(value));
  const std::string address = value.get<std::string>();
  if (absl::Status form = ParseHostPort(address).status(); !form.ok()) {
    return Refuse(path, " ", Quoted(address), " ", form.message());
  }
  return Entry{index, address, path};
}

absl::StatusOr<std::vector<Entry>> ReadArray(const std::string& path, const json& list) {
  std::vector<Entry> entries;
  for (size_t i = 0; i < list.size(); ++i) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(static_cast<int>(i), absl::StrCat(path, "[", i, "]"), list[i]));
    entries.push_back(std::move(entry));
  }
  return entries;
}

absl::StatusOr<std::vector<Entry>> ReadMap(const std::string& path, const json& map) {
  std::map<int, Entry> by_index;
  for (const auto& [key, value] : map.items()) {
    ASSIGN_OR_RETURN(const int index, ReadIndex(absl::StrCat(path, ": the key ", Quoted(key)), json(key)));
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(index, absl::StrCat(path, "[", index, "]"), value));
    if (!by_index.emplace(index, std::move(entry)).second) {
      return Refuse(path, " has the index ", index, " twice");
    }
  }
  std::vector<Entry> entries;
  for (auto& [index, entry] : by_index) entries.push_back(std::move(entry));
  return entries;
}

absl::StatusOr<std::vector<Entry>> ReadJob(const std::string& name, const json& value) {
  const std::string path = absl::StrCat("cluster.", name);
  if (!value.is_array() && !value.is_object()) {
    return Refuse(path, " must be an array of \"host:port\" strings, not ", KindOf(value));
  }
  if (value.empty()) return Refuse(path, " is empty: list its addresses or leave it out");
  return value.is_array() ? ReadArray(path, value) : ReadMap(path, value);
}

absl::Status CheckChief(const Cluster& cluster) {
  if (cluster.count("chief") && cluster.count("master")) {
    return Refuse("cluster has both chief and master: there is one chief only");
  }
  for (const char* name : {"chief", "master"}) {
    const auto found = cluster.find(name);
    if (found != cluster.end() && found->second.size() > 1) {
      return Refuse("cluster.", name, " has ", found->second.size(), " addresses: there is one chief only");
    }
  }
  for (const auto& [name, entries] : cluster) {
    if (!IsBystander(name)) return absl::OkStatus();
  }
  return Refuse("cluster has neither a chief nor workers");
}

absl::Status CheckAddressesDiffer(const Cluster& cluster) {
  std::map<std::string, std::string> path_by_address;
  for (const auto& [name, entries] : cluster) {
    for (const Entry& entry : entries) {
      // Compares as hosts do: LocalHost and localhost are one.
      const std::string address = ParseHostPort(entry.address).value().ToString();
      const auto [first, is_new] = path_by_address.emplace(address, entry.path);
      if (is_new) continue;
      return Refuse(first->second, " and ", entry.path, " are the same address ", Quoted(entry.address));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Cluster> ReadCluster(const json& config) {
  if (!config.contains("cluster")) {
    const char* hint = config.contains("sparseCluster")
                           ? ": sparseCluster alone does not do, every process must know all addresses"
                           : ": to run one worker alone, leave TF_CONFIG unset";
    return Refuse("cluster is missing", hint);
  }
  const json& lists = config["cluster"];
  if (!lists.is_object()) return Refuse("cluster must be an object, not ", KindOf(lists));
  Cluster cluster;
  for (const auto& [name, value] : lists.items()) {
    if (!IsJobName(name)) {
      return Refuse("cluster has an unknown list ", Quoted(name),
                    ": known are chief, master, worker, ps and evaluator");
    }
    ASSIGN_OR_RETURN(cluster[name], ReadJob(name, value));
  }
  RETURN_IF_ERROR(CheckChief(cluster));
  RETURN_IF_ERROR(CheckAddressesDiffer(cluster));
  return cluster;
}

// "chief, worker": what task.type can be.
std::string TaskTypes(const Cluster& cluster) {
  std::vector<std::string> types;
  for (const auto& [name, entries] : cluster) {
    if (!IsBystander(name)) types.push_back(name);
  }
  return absl::StrJoin(types, ", ");
}

// "0, 2, 5": what task.index can be; the end of a long list is left out.
std::string TaskIndices(const std::vector<Entry>& entries) {
  constexpr size_t kMost = 16;
  std::string indices =
      absl::StrJoin(entries.begin(), entries.begin() + std::min(entries.size(), kMost), ", ",
                    [](std::string* out, const Entry& e) { absl::StrAppend(out, e.index); });
  if (entries.size() > kMost) absl::StrAppend(&indices, ", ..., ", entries.back().index);
  return indices;
}

absl::StatusOr<std::string> ReadTaskType(const json& task, const Cluster& cluster) {
  const std::string choices = absl::StrCat("the cluster has: ", TaskTypes(cluster));
  if (!task.contains("type")) return Refuse("task.type is missing; ", choices);
  if (!task["type"].is_string()) {
    return Refuse("task.type must be a string, not ", KindOf(task["type"]), "; ", choices);
  }
  const std::string type = task["type"].get<std::string>();
  if (IsBystander(type)) {
    return Refuse("task.type is \"", type, "\", but lockstep runs no ", type,
                  type == "ps" ? " (parameter server)" : "", ": start only the chief and the workers; ",
                  choices);
  }
  if (!cluster.count(type)) return Refuse("task.type ", Quoted(type), " is not in the cluster; ", choices);
  return type;
}

// Fills the fields of `config` that tell which entry of `cluster` this process is.
absl::Status ReadTask(const json& document, const Cluster& cluster, ClusterConfig* config) {
  if (!document.contains("task")) {
    return Refuse(
        "task is missing: it says which entry of cluster this process is, such as "
        "{\"type\": \"worker\", \"index\": 0}");
  }
  const json& task = document["task"];
  if (!task.is_object()) return Refuse("task must be an object, not ", KindOf(task));
  ASSIGN_OR_RETURN(config->task_type, ReadTaskType(task, cluster));
  const std::vector<Entry>& entries = cluster.at(config->task_type);
  const std::string choices =
      absl::StrCat("cluster.", config->task_type, " has the index ", TaskIndices(entries));
  if (!task.contains("index")) return Refuse("task.index is missing; ", choices);
  ASSIGN_OR_RETURN(config->task_index, ReadIndex("task.index", task["index"]));
  const auto own = std::find_if(entries.begin(), entries.end(),
                                [&](const Entry& entry) { return entry.index == config->task_index; });
  if (own == entries.end())
    return Refuse("task.index ", config->task_index, " is not in the cluster; ", choices);
  const auto at = std::find(config->addresses.begin(), config->addresses.end(), own->address);
  config->rank = static_cast<int>(at - config->addresses.begin());
  return absl::OkStatus();
}

ClusterConfig OneWorker() {
  ClusterConfig config;
  config.addresses = {"127.0.0.1:0"};
  config.names = {"worker:0"};
  config.task_type = "worker";
  return config;
}

}  // namespace

uint64_t ClusterConfig::Hash() const { return Hash64(absl::StrJoin(addresses, "\n")); }

absl::StatusOr<ClusterConfig> ParseTfConfig(absl::string_view text) {
  if (absl::StripAsciiWhitespace(text).empty()) return OneWorker();
  if (text.size() > kLongestConfig) {
    return Refuse("it has ", text.size(), " bytes, more than the limit of ", kLongestConfig);
  }
  const absl::StatusOr<json> document = ParseStrictJson(text);
  if (!document.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("TF_CONFIG ", document.status().message()));
  }
  if (!document->is_object()) return Refuse("it must be an object, not ", KindOf(*document));
  ASSIGN_OR_RETURN(const Cluster cluster, ReadCluster(*document));
  ClusterConfig config;
  config.from_environment = true;
  for (const char* job : {"chief", "master", "worker"}) {
    const auto found = cluster.find(job);
    if (found == cluster.end()) continue;
    for (const Entry& entry : found->second) {
      config.addresses.push_back(entry.address);
      config.names.push_back(absl::StrCat(job, ":", entry.index));
    }
  }
  RETURN_IF_ERROR(ReadTask(*document, cluster, &config));
  return config;
}

}  // namespace lockstep

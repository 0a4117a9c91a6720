#include "model/layer_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

// "dense" for the field `dense` of the layer's oneof; "layer" if none is set.
std::string KindOf(const v1::Layer& layer) {
  if (layer.kind_case() == v1::Layer::KIND_NOT_SET) return "layer";
  return layer.GetDescriptor()->FindFieldByNumber(layer.kind_case())->name();
}

bool IsAllowed(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

absl::StatusOr<std::set<std::string>> GivenNames(const v1::Model& spec) {
  std::set<std::string> names;
  for (int i = 0; i < spec.layers_size(); ++i) {
    const std::string& name = spec.layers(i).name();
    if (name.empty()) continue;
    if (!std::all_of(name.begin(), name.end(), IsAllowed)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "model.layers[", i, "]: the name may hold letters, digits, '_', '.' and '-' only, but is ", name));
    }
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("model.layers[", i, "] (", name, "): another layer has the same name"));
    }
  }
  return names;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MakeLayerNames(const v1::Model& spec) {
  ASSIGN_OR_RETURN(const std::set<std::string> given, GivenNames(spec));
  std::map<std::string, int> used;  // names made so far, per kind
  std::vector<std::string> names;
  for (const v1::Layer& layer : spec.layers()) {
    std::string name = layer.name();
    const std::string kind = KindOf(layer);
    while (name.empty() || (layer.name().empty() && given.count(name) > 0)) {
      const int number = used[kind]++;
      name = number == 0 ? kind : absl::StrCat(kind, "_", number);
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace lockstep

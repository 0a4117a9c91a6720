#include "model/parameter_layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace lockstep {

const Parameter* ParameterLayout::Find(absl::string_view name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const Parameter& parameter) { return parameter.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

std::string ParameterLayout::ToString() const {
  std::string text;
  for (const Parameter& parameter : parameters_) {
    absl::StrAppend(&text, parameter.name, " ", ShapeToString(parameter.shape), " at ", parameter.offset,
                    "\n");
  }
  absl::StrAppend(&text, size_, " elements, hash ", HashToHex(hash_), "\n");
  return text;
}

}  // namespace lockstep

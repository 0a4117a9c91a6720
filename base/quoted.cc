#include "base/quoted.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lockstep {

std::string Quoted(absl::string_view value) {
  constexpr size_t kMost = 80;  // most of a terminal's line
  if (value.size() <= kMost) return absl::StrCat("\"", absl::CHexEscape(value), "\"");
  return absl::StrCat("\"", absl::CHexEscape(value.substr(0, kMost)), "...\" (", value.size(), " bytes)");
}

}  // namespace lockstep

#include "base/seconds_flag.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/quoted.h"

namespace lockstep {

std::string CheckSeconds(const std::string& text) {
  constexpr double kMostSeconds = 1e6;  // eleven days: longer waits are taken for a mistake
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && seconds > 0 && seconds <= kMostSeconds) return "";
  return absl::StrCat(Quoted(text), " is not a number of seconds between 0 and ", kMostSeconds);
}

}  // namespace lockstep

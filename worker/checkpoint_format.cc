#include "worker/checkpoint_format.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace lockstep {

std::string StepDirectory(int64_t step) { return absl::StrFormat("step-%012d", step); }

std::optional<int64_t> StepOfDirectory(absl::string_view name) {
  absl::string_view digits = name;
  int64_t step = 0;
  if (!absl::ConsumePrefix(&digits, "step-") || !absl::SimpleAtoi(digits, &step) || step < 0)
    return std::nullopt;
  // Also refuses signs, blanks and other numbers of digits.
  if (StepDirectory(step) != name) return std::nullopt;
  return step;
}

}  // namespace lockstep

#include "model/hyperparameter.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

absl::Status Check(bool valid, absl::string_view name, double value, absl::string_view range) {
  if (valid && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, ", but must be ", range));
}

}  // namespace

double AsWritten(float value) {
  // The fewest digits that give the float back; 9 always do.
  for (int digits = 1; digits < 9; ++digits) {
    const double decimal = std::strtod(absl::StrFormat("%.*g", digits, value).c_str(), nullptr);
    if (static_cast<float>(decimal) == value) return decimal;
  }
  return value;
}

absl::Status CheckBelowOne(absl::string_view name, double value) {
  return Check(value >= 0 && value < 1, name, value, "in [0, 1)");
}

absl::Status CheckAtMostOne(absl::string_view name, double value) {
  return Check(value >= 0 && value <= 1, name, value, "in [0, 1]");
}

absl::Status CheckPositive(absl::string_view name, double value) {
  return Check(value > 0, name, value, "above 0");
}

absl::Status CheckNotNegative(absl::string_view name, double value) {
  return Check(value >= 0, name, value, "0 or more");
}

}  // namespace lockstep

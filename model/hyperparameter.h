// Reading the numbers of an optimizer's specification.
#ifndef LOCKSTEP_MODEL_HYPERPARAMETER_H_
#define LOCKSTEP_MODEL_HYPERPARAMETER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// The number that the user wrote: 0.999 for the float nearest to 0.999. It matters where a hyperparameter is
// subtracted from 1: 1 - 0.999f is off by 1.3e-5 of its value, and a written default must give the same bits
// as an absent one.
double AsWritten(float value);

// `name` is that of the field, as "adam.beta_1". Errors: INVALID_ARGUMENT unless value is...
absl::Status CheckBelowOne(absl::string_view name, double value);     // in [0, 1)
absl::Status CheckAtMostOne(absl::string_view name, double value);    // in [0, 1]
absl::Status CheckPositive(absl::string_view name, double value);     // above 0 and finite
absl::Status CheckNotNegative(absl::string_view name, double value);  // 0 or more and finite

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_HYPERPARAMETER_H_

// What must hold for any text in TF_CONFIG. Ends the process where it does not.
#ifndef LOCKSTEP_TEST_FUZZ_TF_CONFIG_PROPERTY_H_
#define LOCKSTEP_TEST_FUZZ_TF_CONFIG_PROPERTY_H_

#include "absl/strings/string_view.h"

namespace lockstep {

// Either the text is refused in one short line, or this process has exactly one place in the cluster.
void CheckTfConfigProperty(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_FUZZ_TF_CONFIG_PROPERTY_H_

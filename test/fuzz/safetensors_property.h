// What must hold for any bytes in the header of a safetensors file. Ends the process where it does not.
#ifndef LOCKSTEP_TEST_FUZZ_SAFETENSORS_PROPERTY_H_
#define LOCKSTEP_TEST_FUZZ_SAFETENSORS_PROPERTY_H_

#include "absl/strings/string_view.h"

namespace lockstep {

// `bytes`: the JSON text in front of 64 bytes of data. Either it is refused as damaged, or its tensors lie
// side by side in the data, and writing and reading them again gives the same.
void CheckSafetensorsProperty(absl::string_view bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_FUZZ_SAFETENSORS_PROPERTY_H_

// bazel run --config=fuzz //test/fuzz:safetensors_fuzzer -- $PWD/test/fuzz/corpus/safetensors
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "test/fuzz/safetensors_property.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::CheckSafetensorsProperty(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

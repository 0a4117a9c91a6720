// bazel run --config=fuzz //test/fuzz:tf_config_fuzzer -- $PWD/test/fuzz/corpus/tf_config
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "test/fuzz/tf_config_property.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::CheckTfConfigProperty(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

#include "worker/npy_preamble.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {

std::string NpyPreamble(absl::Span<const int64_t> shape) {
  constexpr size_t kPrefix = 10, kAlignment = 64;
  std::string text = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                                  absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  const size_t total = (kPrefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(total - kPrefix - 1, ' ');
  text.push_back('\n');
  const std::string length = {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return absl::StrCat(absl::string_view("\x93NUMPY\x01\x00", 8), length, text);
}

}  // namespace lockstep

// The header of a safetensors file: 8 bytes little-endian length of a JSON text, the text, then the data of
// all tensors without gaps. Source: https://github.com/huggingface/safetensors, "Format".
#ifndef LOCKSTEP_WORKER_SAFETENSORS_HEADER_H_
#define LOCKSTEP_WORKER_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/shape_text.h"

namespace lockstep {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;  // bytes from the beginning of the data
};

struct SafetensorsHeader {
  // The format's own limit; no more is read or allocated.
  static constexpr int64_t kMostBytes = 100'000'000;

  std::vector<SafetensorsEntry> entries;        // in the order of their data
  std::map<std::string, std::string> metadata;  // free text; absent in the file if empty

  // Everything before the data. A multiple of 8 bytes, padded with blanks as the format allows, so that
  // tensors are aligned.
  std::string Encode() const;

  // `json` is the text behind the 8 bytes; `data_bytes` is what the file has behind it.
  // Errors:
  //   DATA_LOSS: not the JSON of this format; an unknown dtype; a shape that does not match its data;
  //     tensors that overlap, leave gaps, or do not end where the file ends.
  static absl::StatusOr<SafetensorsHeader> Parse(absl::string_view json, int64_t data_bytes);
};

// Elements of a tensor of this shape; 1 for [].
// Errors: DATA_LOSS: negative or beyond int64.
absl::StatusOr<int64_t> CheckedNumElements(absl::Span<const int64_t> shape);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_SAFETENSORS_HEADER_H_

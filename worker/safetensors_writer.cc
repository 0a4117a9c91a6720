#include "worker/safetensors_writer.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "worker/safetensors_header.h"

namespace lockstep {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they lie in memory");

absl::string_view AsBytes(absl::Span<const float> values) {
  return absl::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

absl::Status CheckValues(const NamedTensor& tensor) {
  const absl::StatusOr<int64_t> elements = CheckedNumElements(tensor.shape);
  if (elements.ok() && *elements == static_cast<int64_t>(tensor.values.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensor ", Quoted(tensor.name), " of the shape ",
                                                 ShapeToString(tensor.shape), " has ", tensor.values.size(),
                                                 " values"));
}

absl::StatusOr<std::vector<const NamedTensor*>> SortedByName(absl::Span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& tensor : tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [](const NamedTensor* a, const NamedTensor* b) { return a->name == b->name; });
  if (twice == sorted.end()) return sorted;
  return absl::InvalidArgumentError(absl::StrCat("there are two tensors ", Quoted((*twice)->name)));
}

}  // namespace

absl::Status WriteSafetensors(absl::Span<const NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata, WritableFile* file) {
  ASSIGN_OR_RETURN(const std::vector<const NamedTensor*> sorted, SortedByName(tensors));
  SafetensorsHeader header;
  header.metadata = metadata;
  int64_t end = 0;
  for (const NamedTensor* tensor : sorted) {
    RETURN_IF_ERROR(CheckValues(*tensor));
    const int64_t begin = end;
    end += static_cast<int64_t>(AsBytes(tensor->values).size());
    header.entries.push_back({tensor->name, "F32", tensor->shape, begin, end});
  }
  RETURN_IF_ERROR(file->Append(header.Encode()));
  for (const NamedTensor* tensor : sorted) RETURN_IF_ERROR(file->Append(AsBytes(tensor->values)));
  return absl::OkStatus();
}

}  // namespace lockstep

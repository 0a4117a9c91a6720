#include "data/npy_array.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/shape_text.h"
#include "base/status_macros.h"
#include "data/npy_header.h"

namespace lockstep {
namespace {

// Walks the elements in the order they lie in the file (first axis fastest), and keeps track of where each
// one belongs when the last axis is fastest.
std::vector<std::byte> ToRowMajor(const std::byte* from, const NpyHeader& header) {
  const int64_t element_bytes = ElementBytes(header.format.type);
  std::vector<std::byte> to(header.data_bytes);
  if (to.empty()) return to;
  const std::vector<int64_t>& shape = header.shape;
  std::vector<int64_t> strides(shape.size());
  int64_t stride = element_bytes;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  std::vector<int64_t> index(shape.size(), 0);
  int64_t target = 0;
  for (int64_t source = 0; source < header.data_bytes; source += element_bytes) {
    std::memcpy(&to[target], from + source, element_bytes);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      target += strides[axis];
      if (++index[axis] < shape[axis]) break;
      target -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return to;
}

}  // namespace

absl::StatusOr<TypedArray> ParseNpy(std::shared_ptr<const Bytes> bytes, const std::string& name) {
  ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(bytes->span(), name));
  const int64_t held = static_cast<int64_t>(bytes->size()) - header.data_offset;
  if (held != header.data_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": shape ", ShapeToString(header.shape), " of ", ElementTypeName(header.format.type), " needs ",
        header.data_bytes, " bytes after the header, but there are ", held));
  }
  TypedArray array;
  array.name = name;
  array.format = header.format;
  array.shape = header.shape;
  if (header.fortran_order && header.shape.size() > 1) {
    array.storage = HoldVector(ToRowMajor(bytes->data() + header.data_offset, header));
  } else {
    array.storage = std::move(bytes);
    array.offset = header.data_offset;
  }
  return array;
}

}  // namespace lockstep

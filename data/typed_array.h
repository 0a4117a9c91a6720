// An array as it lies in a file or in memory: numbers of any supported type, row-major.
#ifndef LOCKSTEP_DATA_TYPED_ARRAY_H_
#define LOCKSTEP_DATA_TYPED_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/bytes.h"
#include "data/element_type.h"

namespace lockstep {

// A value type whose copies share the elements. The first axis is the row.
struct TypedArray {
  std::string name;  // for messages, such as: file x.npy
  ElementFormat format;
  std::vector<int64_t> shape;
  std::shared_ptr<const Bytes> storage;
  int64_t offset = 0;  // of the first element in `storage`, in bytes

  const std::byte* data() const { return storage->data() + offset; }
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_TYPED_ARRAY_H_

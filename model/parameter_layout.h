// Where each parameter lies in a flat buffer. Parameters, gradients and optimizer slots of a model are flat
// buffers of the same layout, so that reducing, updating, hashing and saving are loops over one array.
//
// Parameters lie in reverse layer order: the backward pass finishes the buffer from its beginning to its end.
// Each begins at a multiple of 64 bytes; the padding in front of the next one is always zero.
//
// Immutable, thread-safe.
#ifndef LOCKSTEP_MODEL_PARAMETER_LAYOUT_H_
#define LOCKSTEP_MODEL_PARAMETER_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/shape.h"

namespace lockstep {

struct Parameter {
  std::string name;    // "dense/kernel"
  Shape shape;         // canonical, as in Keras: a kernel is [inputs, units]
  int64_t offset = 0;  // first element, a multiple of kParameterAlignment
  int64_t size = 0;    // elements, without padding
  float l2 = 0;        // factor of sum(w^2) in the loss
};

// Elements: 64 bytes, one cache line and one AVX-512 register.
inline constexpr int64_t kParameterAlignment = 16;

class ParameterLayout {
 public:
  ParameterLayout() = default;

  // In ascending order of offset.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Elements of a flat buffer, padding included.
  int64_t size() const { return size_; }
  // Null if there is none of this name.
  const Parameter* Find(absl::string_view name) const;
  // Of names, shapes and offsets. Buffers of equal hash can be exchanged.
  uint64_t hash() const { return hash_; }
  // One line per parameter.
  std::string ToString() const;

 private:
  friend class ParameterLayoutBuilder;

  std::vector<Parameter> parameters_;
  int64_t size_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_PARAMETER_LAYOUT_H_

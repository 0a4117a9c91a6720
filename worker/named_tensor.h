// Tensors of float32 by name, as they go into a checkpoint and come out of it.
#ifndef LOCKSTEP_WORKER_NAMED_TENSOR_H_
#define LOCKSTEP_WORKER_NAMED_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// Something to write. Does not own the values.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;      // [] is a scalar
  absl::Span<const float> values;  // as many as the shape says, the last dimension fastest
};

// Something to read into. Does not own the values.
struct TensorDestination {
  std::string name;
  std::vector<int64_t> shape;
  absl::Span<float> values;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_NAMED_TENSOR_H_

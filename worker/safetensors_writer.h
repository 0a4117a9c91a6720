// Writes tensors in the safetensors format (worker/safetensors_header.h).
#ifndef LOCKSTEP_WORKER_SAFETENSORS_WRITER_H_
#define LOCKSTEP_WORKER_SAFETENSORS_WRITER_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/writable_file.h"
#include "worker/named_tensor.h"

namespace lockstep {

// Appends a whole safetensors file to `file`, tensors in the order of their names: equal contents give
// equal bytes. Neither syncs nor closes it.
// Errors:
//   INVALID_ARGUMENT: a name twice; a tensor whose values do not match its shape.
absl::Status WriteSafetensors(absl::Span<const NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata, WritableFile* file);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_SAFETENSORS_WRITER_H_

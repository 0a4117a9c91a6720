// Writes float32 arrays to a file in NumPy's NPZ format: a zip archive with NAME.npy for each, not
// compressed. Source: numpy.lib.format and numpy.savez.
#ifndef LOCKSTEP_TOOLS_NPZ_WRITER_H_
#define LOCKSTEP_TOOLS_NPZ_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "worker/named_tensor.h"

namespace lockstep {

// Replaces the file at once; equal contents give equal bytes. Names may hold "/", as numpy.load allows.
// Errors: INVALID_ARGUMENT a name twice, or values that do not match their shape; others as libzip says, with
// the path.
absl::Status WriteNpz(absl::Span<const NamedTensor> tensors, const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_NPZ_WRITER_H_

// What stands in front of the values in a .npy file of float32, version 1.0, C order. Source:
// numpy.lib.format.
#ifndef LOCKSTEP_WORKER_NPY_PREAMBLE_H_
#define LOCKSTEP_WORKER_NPY_PREAMBLE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace lockstep {

// Magic, version, length of the text, text. Its size is a multiple of 64, so that the values are aligned.
std::string NpyPreamble(absl::Span<const int64_t> shape);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_NPY_PREAMBLE_H_

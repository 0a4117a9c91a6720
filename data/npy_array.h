// An array in NumPy's NPY format.
#ifndef LOCKSTEP_DATA_NPY_ARRAY_H_
#define LOCKSTEP_DATA_NPY_ARRAY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/bytes.h"
#include "data/typed_array.h"

namespace lockstep {

// `bytes` is the whole file (or archive member); `name` is what messages call it. The elements are not
// copied, unless they are in Fortran order: then once, into row-major order, as rows scattered over a whole
// file would be read again in every epoch.
//
// Errors: INVALID_ARGUMENT for a bad header or a size that is not the one the header promises.
absl::StatusOr<TypedArray> ParseNpy(std::shared_ptr<const Bytes> bytes, const std::string& name);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_NPY_ARRAY_H_

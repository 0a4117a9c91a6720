// Turns the exceptions of oneDNN's C++ interface into a Status. Include in sources only.
#ifndef LOCKSTEP_MODEL_KERNELS_ONEDNN_GUARD_H_
#define LOCKSTEP_MODEL_KERNELS_ONEDNN_GUARD_H_

#include <oneapi/dnnl/dnnl.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// Calls `body`. `what` names the operation in the error.
template <typename Body>
absl::Status GuardOneDnn(absl::string_view what, Body body) {
  try {
    body();
    return absl::OkStatus();
  } catch (const dnnl::error& error) {
    return absl::InternalError(absl::StrCat(what, ": oneDNN failed with status ",
                                            static_cast<int>(error.status), ", ", error.what()));
  }
}

}  // namespace lockstep

#endif  // LOCKSTEP_MODEL_KERNELS_ONEDNN_GUARD_H_

// Values from outside in one-line messages.
#ifndef LOCKSTEP_BASE_QUOTED_H_
#define LOCKSTEP_BASE_QUOTED_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// `value` in double quotes, with quotes, control characters and bytes beyond ASCII escaped, so that it can
// break neither a line nor a terminal. A long one is cut and says its full length in bytes.
std::string Quoted(absl::string_view value);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_QUOTED_H_

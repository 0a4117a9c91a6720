// JSON as RFC 8259 writes it, for configuration written by people: errors say where, and a key that stands
// twice in one object is an error rather than a silent choice.
#ifndef LOCKSTEP_WORKER_STRICT_JSON_H_
#define LOCKSTEP_WORKER_STRICT_JSON_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// Errors:
//   INVALID_ARGUMENT: not JSON: line, column (both from 1), position (bytes before it) and the offending
//     character; a key that stands twice: its path. The message continues a sentence that begins with the
//     name of the document: "is not JSON: line 1, column 2 (position 1): ...".
absl::StatusOr<nlohmann::json> ParseStrictJson(absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_STRICT_JSON_H_

// Reading what has no size and no positions: pipes, terminals, devices.
#ifndef LOCKSTEP_BASE_READ_STREAM_H_
#define LOCKSTEP_BASE_READ_STREAM_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep {

// Whether there is something at `path` that is read as a stream. Follows links.
bool IsStream(const std::string& path);

// Everything until the end, for which it waits as long as somebody can write. `name` is for messages.
// Errors: OUT_OF_RANGE: more than `most_bytes`; those of the system.
absl::StatusOr<std::string> ReadStream(int fd, const std::string& name, size_t most_bytes);

// The same of a file, which is opened: a pipe once somebody has it open for writing.
absl::StatusOr<std::string> ReadStreamFile(const std::string& path, size_t most_bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_READ_STREAM_H_

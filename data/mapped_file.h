// A file as bytes in memory without reading it: ranks on one host share the page cache, and a file may be
// larger than memory.
#ifndef LOCKSTEP_DATA_MAPPED_FILE_H_
#define LOCKSTEP_DATA_MAPPED_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/bytes.h"

namespace lockstep {

// `name` is what messages call the file. Replacing the file by renaming does no harm while it is mapped;
// truncating it does: readers ask Bytes::CheckIntact before they touch the bytes.
//
// Errors: NOT_FOUND, PERMISSION_DENIED or UNAVAILABLE as the system says; INVALID_ARGUMENT for what is not
// a regular file.
absl::StatusOr<std::shared_ptr<const Bytes>> MapFile(const std::string& path, const std::string& name);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_MAPPED_FILE_H_

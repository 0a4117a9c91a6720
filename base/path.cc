#include "base/path.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Compares components, so that /data2 is not below /data.
bool IsBelow(const fs::path& path, const fs::path& root) {
  const auto [at, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return at == root.end();
}

// Whether any part of a canonical path is still a symbolic link: only a dangling one can be.
bool HasDanglingLink(const fs::path& path) {
  fs::path prefix;
  for (const fs::path& part : path) {
    prefix /= part;
    std::error_code ignored;
    if (fs::is_symlink(fs::symlink_status(prefix, ignored))) return true;
  }
  return false;
}

fs::path ToPath(absl::string_view text) { return fs::path(text.begin(), text.end()); }

}  // namespace

absl::StatusOr<std::string> ResolveBelow(absl::string_view root, absl::string_view path,
                                         absl::string_view field) {
  if (path.empty()) return absl::InvalidArgumentError(absl::StrCat(field, ": the path is empty"));
  if (absl::StrContains(path, '\0')) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": the path holds a zero byte"));
  }
  std::error_code error;
  const fs::path real_root = fs::canonical(root.empty() ? fs::path(".") : ToPath(root), error);
  if (error) {
    return absl::NotFoundError(absl::StrCat(field, ": root directory ", root, ": ", error.message()));
  }
  const fs::path resolved = fs::weakly_canonical(real_root / ToPath(path), error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, ": ", error.message()));
  if (HasDanglingLink(resolved)) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, " (", resolved.string(),
                                                   ") goes through a symbolic link to nothing"));
  }
  if (!IsBelow(resolved, real_root)) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", path, " is ", resolved.string(),
                                                   ", which is not below the root directory ",
                                                   real_root.string()));
  }
  return resolved.string();
}

}  // namespace lockstep

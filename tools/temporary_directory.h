// A new directory below $TMPDIR, or /tmp.
#ifndef LOCKSTEP_TOOLS_TEMPORARY_DIRECTORY_H_
#define LOCKSTEP_TOOLS_TEMPORARY_DIRECTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace lockstep {

class TemporaryDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryDirectory>> Create();
  // Removes it with all that is in it, unless Keep was called.
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  void Keep() { keep_ = true; }

 private:
  explicit TemporaryDirectory(const std::string& path) : path_(path) {}

  const std::string path_;
  bool keep_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TOOLS_TEMPORARY_DIRECTORY_H_

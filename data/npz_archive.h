// Arrays in NumPy's NPZ format: a zip archive of NPY files, stored or deflated, with or without zip64.
#ifndef LOCKSTEP_DATA_NPZ_ARCHIVE_H_
#define LOCKSTEP_DATA_NPZ_ARCHIVE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/bytes.h"
#include "data/typed_array.h"

struct zip;

namespace lockstep {

// For one thread. Arrays that were read do not need the archive any more.
class NpzArchive {
 public:
  // `bytes` is the whole file; `name` is what messages call it. Sizes are taken from the central directory.
  // Errors: INVALID_ARGUMENT for what is not a zip archive.
  static absl::StatusOr<NpzArchive> Open(std::shared_ptr<const Bytes> bytes, const std::string& name);

  // The member `array`.npy, in memory.
  // Errors: NOT_FOUND, with the names that are there; INVALID_ARGUMENT as for ParseNpy, or for a size that
  // cannot be true; DATA_LOSS for damaged data or a wrong checksum.
  absl::StatusOr<TypedArray> Read(const std::string& array) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  NpzArchive(std::shared_ptr<const Bytes> bytes, std::string name, zip* archive);

  absl::Status CheckNames() const;
  std::string ArrayNames() const;

  std::shared_ptr<const Bytes> bytes_;
  std::string name_;
  std::unique_ptr<zip, Discard> archive_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_NPZ_ARCHIVE_H_

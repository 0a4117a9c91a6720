// Decompression of gzip data that is already in memory, piece by piece, so that a caller can look at a
// header before it allocates room for the rest.
#ifndef LOCKSTEP_DATA_GZIP_H_
#define LOCKSTEP_DATA_GZIP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lockstep {

// Deflate cannot expand its input more than this (zlib's documentation); a file that promises more lies.
constexpr int64_t kMostDeflateExpansion = 1032;

// Whether data begins with 1F 8B.
bool IsGzip(absl::Span<const std::byte> data);

// For one thread.
class GzipReader {
 public:
  // `compressed` must outlive the reader; `name` is what messages call it.
  GzipReader(absl::Span<const std::byte> compressed, std::string name);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Fills `to` as far as there is data, and returns how many bytes that were. At the end of the data the
  // checksum is verified. Several gzip members one after the other count as one stream.
  // Errors: DATA_LOSS for data that is damaged or cut off, or followed by something else than zeros.
  absl::StatusOr<int64_t> Read(absl::Span<std::byte> to);

 private:
  struct Stream;  // keeps zlib.h out of this header

  absl::Status NextMember();
  absl::Status Damaged(const std::string& problem) const;

  const absl::Span<const std::byte> compressed_;
  const std::string name_;
  const std::unique_ptr<Stream> stream_;
  size_t consumed_ = 0;  // bytes of `compressed_`
  bool at_end_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_GZIP_H_

// Passes what is written on to a file and keeps its size and CRC-32C. One thread at a time.
#ifndef LOCKSTEP_BASE_CHECKSUMMED_FILE_H_
#define LOCKSTEP_BASE_CHECKSUMMED_FILE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/crc32c.h"
#include "base/writable_file.h"

namespace lockstep {

class ChecksummedFile : public WritableFile {
 public:
  explicit ChecksummedFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  absl::Status Append(absl::string_view bytes) override {
    bytes_ += static_cast<int64_t>(bytes.size());
    crc32c_ = Crc32c(bytes.data(), bytes.size(), crc32c_);
    return file_->Append(bytes);
  }
  absl::Status Sync() override { return file_->Sync(); }
  absl::Status Close() override { return file_->Close(); }

  int64_t bytes() const { return bytes_; }
  uint32_t crc32c() const { return crc32c_; }

 private:
  const std::unique_ptr<WritableFile> file_;
  int64_t bytes_ = 0;
  uint32_t crc32c_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_CHECKSUMMED_FILE_H_

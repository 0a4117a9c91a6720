#include "data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip wrapper only

// zlib counts in 32 bits.
uInt Part(size_t bytes) {
  return static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max()));
}

}  // namespace

bool IsGzip(absl::Span<const std::byte> data) {
  return data.size() >= 2 && data[0] == std::byte{0x1F} && data[1] == std::byte{0x8B};
}

struct GzipReader::Stream {
  Stream() {
    if (inflateInit2(&z, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Stream() { inflateEnd(&z); }
  z_stream z = {};
};

GzipReader::GzipReader(absl::Span<const std::byte> compressed, std::string name)
    : compressed_(compressed), name_(std::move(name)), stream_(std::make_unique<Stream>()) {}

GzipReader::~GzipReader() = default;

absl::StatusOr<int64_t> GzipReader::Read(absl::Span<std::byte> to) {
  z_stream& z = stream_->z;
  size_t produced = 0;
  while (produced < to.size() && !at_end_) {
    const uInt input = Part(compressed_.size() - consumed_);
    const uInt room = Part(to.size() - produced);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(compressed_.data() + consumed_));
    z.avail_in = input;
    z.next_out = reinterpret_cast<Bytef*>(to.data() + produced);
    z.avail_out = room;
    const int result = inflate(&z, Z_NO_FLUSH);
    consumed_ += input - z.avail_in;
    produced += room - z.avail_out;
    if (result == Z_STREAM_END) {
      RETURN_IF_ERROR(NextMember());
    } else if (result == Z_BUF_ERROR) {
      return Damaged("the gzip data is cut off");
    } else if (result != Z_OK) {
      return Damaged(absl::StrCat("damaged gzip data: ", z.msg != nullptr ? z.msg : zError(result)));
    }
  }
  return static_cast<int64_t>(produced);
}

absl::Status GzipReader::NextMember() {
  const absl::Span<const std::byte> rest = compressed_.subspan(consumed_);
  // Zeros fill up the blocks of tapes and some copies; gzip(1) passes over them too.
  at_end_ = std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{0}; });
  if (at_end_) return absl::OkStatus();
  if (!IsGzip(rest)) return Damaged(absl::StrCat(rest.size(), " bytes follow the end of the gzip data"));
  inflateReset(&stream_->z);
  return absl::OkStatus();
}

absl::Status GzipReader::Damaged(const std::string& problem) const {
  return absl::DataLossError(
      absl::StrCat(name_, ": ", problem, " (byte ", consumed_, " of ", compressed_.size(), ")"));
}

}  // namespace lockstep

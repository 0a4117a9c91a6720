#include "data/idx_array.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/shape_text.h"
#include "base/status_macros.h"
#include "data/array_bytes.h"
#include "data/gzip.h"

namespace lockstep {
namespace {

constexpr uint32_t kUnsignedBytes = 0x0800;     // magic number without the number of dimensions
constexpr size_t kMostHeaderBytes = 4 + 4 * 4;  // of four dimensions

struct IdxHeader {
  std::vector<int64_t> shape;
  int64_t data_offset = 0;
  int64_t data_bytes = 0;
};

uint32_t BigEndian32(const std::byte* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = (value << 8) | static_cast<uint32_t>(at[i]);
  return value;
}

bool IsExpectedMagic(uint32_t magic, IdxContent content) {
  if (content == IdxContent::kLabels) return magic == (kUnsignedBytes | 1);
  return magic == (kUnsignedBytes | 3) || magic == (kUnsignedBytes | 4);
}

absl::StatusOr<IdxHeader> ParseHeader(absl::Span<const std::byte> start, IdxContent content,
                                      const std::string& name) {
  const size_t held = start.size();
  const auto cut_off = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the IDX header is cut off after ", held, " bytes"));
  };
  if (held < 4) return cut_off();
  const uint32_t magic = BigEndian32(start.data());
  if (!IsExpectedMagic(magic, content)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: magic number 0x%08X (%d) is not that of IDX %s, 0x%08X (%d)", name, magic, magic,
        content == IdxContent::kLabels ? "labels" : "images", content == IdxContent::kLabels ? 0x801 : 0x803,
        content == IdxContent::kLabels ? 0x801 : 0x803));
  }
  const size_t dimensions = magic & 0xFF;
  IdxHeader header;
  header.data_offset = static_cast<int64_t>(4 + 4 * dimensions);
  if (held < static_cast<size_t>(header.data_offset)) return cut_off();
  for (size_t i = 0; i < dimensions; ++i) header.shape.push_back(BigEndian32(start.data() + 4 + 4 * i));
  const auto bytes = CheckedArrayBytes(header.shape, 1);
  if (!bytes.ok()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", bytes.status().message()));
  header.data_bytes = *bytes;
  return header;
}

absl::Status WrongSize(const IdxHeader& header, const std::string& held, const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": shape ", ShapeToString(header.shape), " needs ",
                                                 header.data_bytes, " bytes after the header, but there are ",
                                                 held));
}

TypedArray ToArray(const IdxHeader& header, std::shared_ptr<const Bytes> storage, int64_t offset,
                   const std::string& name) {
  TypedArray array;
  array.name = name;
  array.format.type = ElementType::kU1;
  array.shape = header.shape;
  array.storage = std::move(storage);
  array.offset = offset;
  return array;
}

absl::StatusOr<TypedArray> ParsePlain(std::shared_ptr<const Bytes> bytes, IdxContent content,
                                      const std::string& name) {
  ASSIGN_OR_RETURN(const IdxHeader header, ParseHeader(bytes->span(), content, name));
  const int64_t held = static_cast<int64_t>(bytes->size()) - header.data_offset;
  if (held != header.data_bytes) return WrongSize(header, absl::StrCat(held), name);
  return ToArray(header, std::move(bytes), header.data_offset, name);
}

absl::StatusOr<TypedArray> ParseCompressed(const Bytes& bytes, IdxContent content, const std::string& name) {
  GzipReader reader(bytes.span(), name);
  std::byte start[kMostHeaderBytes];
  ASSIGN_OR_RETURN(const int64_t start_bytes, reader.Read(absl::MakeSpan(start)));
  ASSIGN_OR_RETURN(const IdxHeader header,
                   ParseHeader(absl::MakeConstSpan(start, start_bytes), content, name));
  const int64_t most = static_cast<int64_t>(bytes.size()) * kMostDeflateExpansion;
  if (header.data_bytes > most) return WrongSize(header, absl::StrCat("at most ", most), name);

  std::vector<std::byte> data(header.data_bytes);
  const int64_t begun = std::min(start_bytes - header.data_offset, header.data_bytes);
  std::copy_n(start + header.data_offset, begun, data.begin());
  ASSIGN_OR_RETURN(const int64_t rest, reader.Read(absl::MakeSpan(data).subspan(begun)));
  const int64_t held = begun + rest;
  if (held != header.data_bytes) return WrongSize(header, absl::StrCat(held), name);
  // Asking for one byte more also brings the check of the checksum.
  std::byte surplus;
  ASSIGN_OR_RETURN(const int64_t surplus_bytes, reader.Read(absl::MakeSpan(&surplus, 1)));
  if (surplus_bytes > 0 || start_bytes - header.data_offset > begun) return WrongSize(header, "more", name);
  return ToArray(header, HoldVector(std::move(data)), 0, name);
}

}  // namespace

absl::StatusOr<TypedArray> ParseIdx(std::shared_ptr<const Bytes> bytes, IdxContent content,
                                    const std::string& name) {
  if (IsGzip(bytes->span())) return ParseCompressed(*bytes, content, name);
  return ParsePlain(std::move(bytes), content, name);
}

}  // namespace lockstep

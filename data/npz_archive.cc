#include "data/npz_archive.h"

#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/quoted.h"
#include "base/shape_text.h"
#include "base/status_macros.h"
#include "data/gzip.h"
#include "data/npy_array.h"
#include "data/npy_header.h"

namespace lockstep {
namespace {

constexpr char kSuffix[] = ".npy";

struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Member = std::unique_ptr<zip_file_t, CloseMember>;

absl::Status DamagedMember(zip_file_t* file, const std::string& name) {
  return absl::DataLossError(absl::StrCat(name, ": ", zip_error_strerror(zip_file_get_error(file))));
}

// Fills `to` as far as there is data, and returns how many bytes that were.
absl::StatusOr<int64_t> ReadMember(zip_file_t* file, absl::Span<std::byte> to, const std::string& name) {
  int64_t total = 0;
  while (total < static_cast<int64_t>(to.size())) {
    const zip_int64_t read = zip_fread(file, to.data() + total, to.size() - total);
    if (read < 0) return DamagedMember(file, name);
    if (read == 0) break;
    total += read;
  }
  return total;
}

// The directory's word for the size is only believed as far as the compressed bytes can bear it and the
// array's own header agrees, so that a few bytes cannot claim all memory.
absl::StatusOr<std::vector<std::byte>> ReadChecked(zip_file_t* file, const zip_stat_t& stat,
                                                   const std::string& name) {
  const int64_t size = static_cast<int64_t>(stat.size);
  std::vector<std::byte> data(std::clamp<int64_t>(size, 0, kMostNpyHeaderBytes));
  ASSIGN_OR_RETURN(const int64_t begun, ReadMember(file, absl::MakeSpan(data), name));
  ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(absl::MakeConstSpan(data).first(begun), name));
  const int64_t needed = header.data_offset + header.data_bytes;
  const int64_t most = static_cast<int64_t>(stat.comp_size) * kMostDeflateExpansion;
  if (needed != size || needed > most) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": shape ", ShapeToString(header.shape), " needs ",
                                                   needed, " bytes with its header, but the archive holds ",
                                                   size, " (", stat.comp_size, " compressed)"));
  }
  data.resize(size);
  ASSIGN_OR_RETURN(const int64_t rest, ReadMember(file, absl::MakeSpan(data).subspan(begun), name));
  // Asking for one byte more brings the check of the checksum.
  std::byte surplus;
  ASSIGN_OR_RETURN(const int64_t surplus_bytes, ReadMember(file, absl::MakeSpan(&surplus, 1), name));
  if (begun + rest != size || surplus_bytes != 0) {
    return absl::DataLossError(
        absl::StrCat(name, ": ", begun + rest + surplus_bytes, " bytes instead of the directory's ", size));
  }
  return data;
}

}  // namespace

void NpzArchive::Discard::operator()(zip* archive) const { zip_discard(archive); }

absl::StatusOr<NpzArchive> NpzArchive::Open(std::shared_ptr<const Bytes> bytes, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes->data(), bytes->size(), 0, &error);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    const std::string problem = zip_error_strerror(&error);
    if (source != nullptr) zip_source_free(source);
    zip_error_fini(&error);
    return absl::InvalidArgumentError(absl::StrCat("file ", name, " is not a usable NPZ archive: ", problem));
  }
  zip_error_fini(&error);
  NpzArchive opened(std::move(bytes), name, archive);
  RETURN_IF_ERROR(opened.CheckNames());
  // To libzip an empty file is an empty archive.
  if (zip_get_num_entries(archive, 0) > 0) return opened;
  return absl::InvalidArgumentError(absl::StrCat("file ", name, " is not a usable NPZ archive: it is empty"));
}

NpzArchive::NpzArchive(std::shared_ptr<const Bytes> bytes, std::string name, zip* archive)
    : bytes_(std::move(bytes)), name_(std::move(name)), archive_(archive) {}

absl::StatusOr<TypedArray> NpzArchive::Read(const std::string& array) const {
  const std::string member = absl::StrCat(array, kSuffix);
  const std::string name = absl::StrCat("file ", name_, " array ", Quoted(array));
  const zip_int64_t index = zip_name_locate(archive_.get(), member.c_str(), 0);
  if (index < 0) {
    return absl::NotFoundError(
        absl::StrCat("file ", name_, " has no array ", Quoted(array), "; it holds: ", ArrayNames()));
  }
  zip_stat_t stat;
  if (zip_stat_index(archive_.get(), index, 0, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0 ||
      (stat.valid & ZIP_STAT_COMP_SIZE) == 0) {
    return absl::DataLossError(absl::StrCat(name, ": ", zip_strerror(archive_.get())));
  }
  const Member file(zip_fopen_index(archive_.get(), index, 0));
  if (file == nullptr) return absl::DataLossError(absl::StrCat(name, ": ", zip_strerror(archive_.get())));
  ASSIGN_OR_RETURN(std::vector<std::byte> data, ReadChecked(file.get(), stat, name));
  return ParseNpy(HoldVector(std::move(data)), name);
}

// libzip takes the first of several members of one name, NumPy the last.
absl::Status NpzArchive::CheckNames() const {
  std::set<std::string> names;
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* member = zip_get_name(archive_.get(), i, 0);
    if (member == nullptr || names.insert(member).second) continue;
    return absl::InvalidArgumentError(absl::StrCat("file ", name_, " has two members ", Quoted(member),
                                                   ": which one is meant cannot be told"));
  }
  return absl::OkStatus();
}

std::string NpzArchive::ArrayNames() const {
  std::vector<std::string> names;
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* member = zip_get_name(archive_.get(), i, 0);
    if (member != nullptr) names.push_back(Quoted(absl::StripSuffix(member, kSuffix)));
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace lockstep

#include "worker/safetensors_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quoted.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int64_t kLengthBytes = 8;

// Bytes of the JSON text, checked before anything of that size is allocated.
absl::StatusOr<int64_t> ReadHeaderLength(const ReadableFile& file) {
  if (file.size() < kLengthBytes) {
    return absl::DataLossError(absl::StrCat("it has only ", file.size(), " bytes"));
  }
  std::array<char, kLengthBytes> bytes;
  RETURN_IF_ERROR(file.Read(0, absl::MakeSpan(bytes)));
  uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  const int64_t most = std::min(SafetensorsHeader::kMostBytes, file.size() - kLengthBytes);
  if (length > static_cast<uint64_t>(most)) {
    return absl::DataLossError(
        absl::StrCat("its header claims ", length, " bytes, but there can be at most ", most));
  }
  return static_cast<int64_t>(length);
}

absl::StatusOr<SafetensorsHeader> ReadHeader(const ReadableFile& file, int64_t length) {
  std::string text(static_cast<size_t>(length), '\0');
  RETURN_IF_ERROR(file.Read(kLengthBytes, absl::MakeSpan(&text[0], text.size())));
  return SafetensorsHeader::Parse(text, file.size() - kLengthBytes - length);
}

absl::Span<char> AsBytes(absl::Span<float> values) {
  return absl::MakeSpan(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float));
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(path, " is not a whole safetensors file: ", status.message()));
}

}  // namespace

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files->OpenFile(path));
  const absl::StatusOr<int64_t> length = ReadHeaderLength(*file);
  if (!length.ok()) return InFile(path, length.status());
  absl::StatusOr<SafetensorsHeader> header = ReadHeader(*file, *length);
  if (!header.ok()) return InFile(path, header.status());
  return SafetensorsReader(std::move(file), path, kLengthBytes + *length, *std::move(header));
}

SafetensorsReader::SafetensorsReader(std::unique_ptr<ReadableFile> file, std::string path,
                                     int64_t data_offset, SafetensorsHeader header)
    : file_(std::move(file)), path_(std::move(path)), data_offset_(data_offset), header_(std::move(header)) {
  for (size_t i = 0; i < header_.entries.size(); ++i) index_by_name_[header_.entries[i].name] = i;
}

const SafetensorsEntry* SafetensorsReader::Find(const std::string& name) const {
  const auto found = index_by_name_.find(name);
  return found == index_by_name_.end() ? nullptr : &header_.entries[found->second];
}

absl::Status SafetensorsReader::CheckDestination(const TensorDestination& destination,
                                                 const std::string& what) const {
  const SafetensorsEntry* const entry = Find(destination.name);
  if (entry == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(destination.name, ": ", what, " has it, ", path_, " has not"));
  }
  if (entry->shape != destination.shape) {
    return absl::FailedPreconditionError(absl::StrCat(destination.name, ": ", path_, " has ",
                                                      ShapeToString(entry->shape), ", ", what, " has ",
                                                      ShapeToString(destination.shape)));
  }
  if (entry->dtype != "F32") {
    return absl::FailedPreconditionError(
        absl::StrCat(destination.name, ": ", path_, " has ", entry->dtype, " values, only F32 can be read"));
  }
  if (AsBytes(destination.values).size() != static_cast<size_t>(entry->end - entry->begin)) {
    return absl::InvalidArgumentError(absl::StrCat(destination.name, ": the destination of the shape ",
                                                   ShapeToString(destination.shape), " has room for ",
                                                   destination.values.size(), " values"));
  }
  return absl::OkStatus();
}

absl::Status SafetensorsReader::ReadAll(absl::Span<const TensorDestination> destinations,
                                        const std::string& what) const {
  std::map<std::string, const TensorDestination*> by_name;
  for (const TensorDestination& destination : destinations) {
    RETURN_IF_ERROR(CheckDestination(destination, what));
    by_name[destination.name] = &destination;
  }
  for (const SafetensorsEntry& entry : header_.entries) {
    if (by_name.count(entry.name)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(entry.name), ": ", path_, " has it, ", what, " has not"));
  }
  for (const SafetensorsEntry& entry : header_.entries) {
    RETURN_IF_ERROR(file_->Read(data_offset_ + entry.begin, AsBytes(by_name[entry.name]->values)));
  }
  return absl::OkStatus();
}

}  // namespace lockstep

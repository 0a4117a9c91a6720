#include "worker/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "worker/strict_json.h"

namespace lockstep {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
constexpr char kMetadataKey[] = "__metadata__";

template <typename... Parts>
absl::Status Damaged(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

// 0 for a dtype that the format does not know.
int64_t BytesPerElement(absl::string_view dtype) {
  static const auto* const kBytes = new std::map<std::string, int64_t>{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8},
  };
  const auto found = kBytes->find(std::string(dtype));
  return found == kBytes->end() ? 0 : found->second;
}

bool IsCount(const json& value) {
  return value.is_number_unsigned() &&
         value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

bool IsArrayOfCounts(const json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), IsCount);
}

absl::StatusOr<SafetensorsEntry> ParseEntry(const std::string& name, const json& value) {
  const std::string tensor = absl::StrCat("tensor ", Quoted(name));
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    return Damaged(tensor, " is not an object with dtype, shape and data_offsets");
  }
  const json& dtype = value["dtype"];
  const json& shape = value["shape"];
  const json& offsets = value["data_offsets"];
  if (!dtype.is_string()) return Damaged(tensor, " has a dtype that is not a string");
  if (!IsArrayOfCounts(shape)) return Damaged(tensor, " has a shape that is not an array of whole numbers");
  if (!IsArrayOfCounts(offsets) || offsets.size() != 2) {
    return Damaged(tensor, " has data_offsets that are not two whole numbers");
  }
  SafetensorsEntry entry{name, dtype.get<std::string>(), shape.get<std::vector<int64_t>>(),
                         offsets[0].get<int64_t>(), offsets[1].get<int64_t>()};
  if (BytesPerElement(entry.dtype) == 0)
    return Damaged(tensor, " has the unknown dtype ", Quoted(entry.dtype));
  return entry;
}

absl::StatusOr<std::map<std::string, std::string>> ParseMetadata(const json& value) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) return Damaged("__metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return Damaged("__metadata__ has a value that is not a string: ", Quoted(key));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

absl::Status CheckSize(const SafetensorsEntry& entry) {
  ASSIGN_OR_RETURN(const int64_t elements, CheckedNumElements(entry.shape));
  const int64_t bytes = entry.end - entry.begin;
  // Divided rather than multiplied: the product could overflow.
  const int64_t each = BytesPerElement(entry.dtype);
  if (bytes >= 0 && bytes % each == 0 && bytes / each == elements) return absl::OkStatus();
  return Damaged("tensor ", Quoted(entry.name), " of ", entry.dtype, " ", ShapeToString(entry.shape), " has ",
                 bytes, " bytes of data");
}

// Sorts the entries by their data, which must lie side by side from 0 to `data_bytes`.
absl::Status CheckPlacement(int64_t data_bytes, std::vector<SafetensorsEntry>* entries) {
  std::sort(entries->begin(), entries->end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  int64_t end = 0;
  for (const SafetensorsEntry& entry : *entries) {
    if (entry.begin != end) {
      return Damaged("tensor ", Quoted(entry.name), " begins at byte ", entry.begin, " of the data, but ",
                     end, " is where the one before it ends");
    }
    RETURN_IF_ERROR(CheckSize(entry));
    end = entry.end;
  }
  if (end == data_bytes) return absl::OkStatus();
  return Damaged("the tensors have ", end, " bytes of data, the file has ", data_bytes);
}

}  // namespace

absl::StatusOr<int64_t> CheckedNumElements(absl::Span<const int64_t> shape) {
  int64_t elements = 1;
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(elements, dimension, &elements)) {
      return Damaged("the shape ", ShapeToString(shape), " is not possible");
    }
  }
  return elements;
}

std::string SafetensorsHeader::Encode() const {
  ordered_json object = ordered_json::object();
  if (!metadata.empty()) object[kMetadataKey] = metadata;
  for (const SafetensorsEntry& entry : entries) {
    object[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text =
      object.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  std::string header;
  for (size_t i = 0; i < kLengthBytes; ++i) header.push_back(static_cast<char>(text.size() >> (8 * i)));
  return header + text;
}

absl::StatusOr<SafetensorsHeader> SafetensorsHeader::Parse(absl::string_view text, int64_t data_bytes) {
  const absl::StatusOr<json> object = ParseStrictJson(text);
  if (!object.ok()) return Damaged("the header ", object.status().message());
  if (!object->is_object()) return Damaged("the header is not a JSON object");
  SafetensorsHeader header;
  for (const auto& [name, value] : object->items()) {
    if (name == kMetadataKey) {
      ASSIGN_OR_RETURN(header.metadata, ParseMetadata(value));
      continue;
    }
    ASSIGN_OR_RETURN(SafetensorsEntry entry, ParseEntry(name, value));
    header.entries.push_back(std::move(entry));
  }
  RETURN_IF_ERROR(CheckPlacement(data_bytes, &header.entries));
  return header;
}

}  // namespace lockstep

#include "test/fuzz/safetensors_property.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/logging.h"
#include "worker/safetensors_header.h"

namespace lockstep {
namespace {

constexpr int64_t kDataBytes = 64;

void CheckEqual(const SafetensorsHeader& a, const SafetensorsHeader& b) {
  CHECK(a.metadata == b.metadata);
  CHECK_EQ(a.entries.size(), b.entries.size());
  for (size_t i = 0; i < a.entries.size(); ++i) {
    CHECK_EQ(a.entries[i].name, b.entries[i].name);
    CHECK_EQ(a.entries[i].dtype, b.entries[i].dtype);
    CHECK(a.entries[i].shape == b.entries[i].shape);
    CHECK_EQ(a.entries[i].begin, b.entries[i].begin);
    CHECK_EQ(a.entries[i].end, b.entries[i].end);
  }
}

}  // namespace

void CheckSafetensorsProperty(absl::string_view bytes) {
  const absl::StatusOr<SafetensorsHeader> header = SafetensorsHeader::Parse(bytes, kDataBytes);
  if (!header.ok()) {
    CHECK(absl::IsDataLoss(header.status())) << header.status();
    return;
  }
  int64_t end = 0;
  for (const SafetensorsEntry& entry : header->entries) {
    CHECK_EQ(entry.begin, end);
    CHECK_GE(entry.end, entry.begin);
    end = entry.end;
  }
  CHECK_EQ(end, kDataBytes);
  const std::string encoded = header->Encode();
  CHECK_EQ(encoded.size() % 8, 0u);
  const absl::StatusOr<SafetensorsHeader> again =
      SafetensorsHeader::Parse(absl::string_view(encoded).substr(8), kDataBytes);
  CHECK(again.ok()) << again.status();
  CheckEqual(*header, *again);
}

}  // namespace lockstep

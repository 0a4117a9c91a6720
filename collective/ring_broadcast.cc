#include "collective/ring_broadcast.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "collective/ring_schedule.h"

namespace lockstep {
namespace {

// Segments between two ranks at a time: one travels while the one before is passed on.
constexpr int64_t kWindow = 4;

}  // namespace

absl::Status RingBroadcast(int root, absl::Span<std::byte> bytes, Exchange* exchange) {
  const int n = exchange->world_size();
  if (n == 1) return absl::OkStatus();
  const RingSchedule ring(exchange->rank(), n);
  const bool receives_any = exchange->rank() != root;
  const bool sends_any = ring.next() != root;
  const size_t segment_bytes = exchange->options().segment_bytes;
  const int64_t num_segments = (bytes.size() + segment_bytes - 1) / segment_bytes;
  if (num_segments > (int64_t{1} << Exchange::kSegmentBits)) {
    return absl::InvalidArgumentError(
        absl::StrCat("broadcast of ", num_segments, " segments: raise segment_bytes"));
  }
  std::vector<Completion> sends(num_segments), receives(num_segments);
  const auto piece = [&](int64_t s) { return bytes.subspan(s * segment_bytes, segment_bytes); };
  int64_t posted = 0;
  for (int64_t s = 0; s < num_segments; ++s) {
    if (receives_any) {
      for (; posted < std::min(num_segments, s + kWindow); ++posted) {
        exchange->Receive({ring.prev(), 0, posted}, ReceiveMode::kOverwrite, {{}, {}, piece(posted)},
                          &receives[posted]);
      }
      RETURN_IF_ERROR(exchange->WaitReceived({ring.prev(), 0, s}, piece(s).size(), &receives[s]));
    }
    if (!sends_any) continue;
    if (s >= kWindow) RETURN_IF_ERROR(exchange->WaitSent({ring.next(), 0, s - kWindow}, &sends[s - kWindow]));
    exchange->Send({ring.next(), 0, s}, {{}, {}, piece(s)}, &sends[s]);
  }
  if (!sends_any) return absl::OkStatus();
  for (int64_t s = std::max<int64_t>(0, num_segments - kWindow); s < num_segments; ++s) {
    RETURN_IF_ERROR(exchange->WaitSent({ring.next(), 0, s}, &sends[s]));
  }
  return absl::OkStatus();
}

}  // namespace lockstep

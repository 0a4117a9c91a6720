#include "collective/broadcast.h"

#include <algorithm>

#include "base/status_macros.h"

namespace lockstep {
namespace {

int Rounds(int world_size) {
  int rounds = 0;
  while ((1 << rounds) < world_size) ++rounds;
  return rounds;
}

class Broadcaster {
 public:
  Broadcaster(const BroadcastRoute& route, int step, absl::Span<std::byte> bytes, int64_t num_segments,
              Exchange* exchange)
      : route_(route),
        step_(step),
        bytes_(bytes),
        segment_bytes_(exchange->options().segment_bytes),
        window_(exchange->options().window),
        num_segments_(num_segments),
        exchange_(exchange),
        receives_(num_segments_),
        sends_(route.children.size() * num_segments_) {}

  absl::Status Run() {
    int64_t posted = 0;
    for (int64_t s = 0; s < num_segments_; ++s) {
      if (route_.parent >= 0) {
        for (; posted < std::min(num_segments_, s + window_); ++posted) {
          exchange_->Receive(At(route_.parent, posted), ReceiveMode::kOverwrite, {{}, {}, Segment(posted)},
                             &receives_[posted]);
        }
        RETURN_IF_ERROR(exchange_->WaitReceived(At(route_.parent, s), Segment(s).size(), &receives_[s]));
      }
      if (s >= window_) RETURN_IF_ERROR(WaitSent(s - window_));
      for (size_t child = 0; child < route_.children.size(); ++child) {
        exchange_->Send(At(route_.children[child], s), {{}, {}, Segment(s)}, Sent(s, child));
      }
    }
    for (int64_t s = std::max<int64_t>(0, num_segments_ - window_); s < num_segments_; ++s) {
      RETURN_IF_ERROR(WaitSent(s));
    }
    return absl::OkStatus();
  }

 private:
  absl::Span<std::byte> Segment(int64_t s) const {
    return bytes_.subspan(s * segment_bytes_, segment_bytes_);
  }
  MessagePosition At(int peer, int64_t segment) const { return {peer, step_, segment}; }
  Completion* Sent(int64_t segment, size_t child) {
    return &sends_[segment * route_.children.size() + child];
  }
  absl::Status WaitSent(int64_t segment) {
    for (size_t child = 0; child < route_.children.size(); ++child) {
      RETURN_IF_ERROR(exchange_->WaitSent(At(route_.children[child], segment), Sent(segment, child)));
    }
    return absl::OkStatus();
  }

  const BroadcastRoute route_;
  const int step_;
  const absl::Span<std::byte> bytes_;
  const size_t segment_bytes_;
  const int64_t window_;
  const int64_t num_segments_;
  Exchange* const exchange_;
  std::vector<Completion> receives_;
  std::vector<Completion> sends_;  // by segment, then child
};

}  // namespace

BroadcastRoute RingRoute(int rank, int world_size, int root) {
  BroadcastRoute route;
  const int next = (rank + 1) % world_size;
  if (rank != root) route.parent = (rank + world_size - 1) % world_size;
  if (next != root) route.children.push_back(next);
  return route;
}

// In round k, those at a distance below 2^k from the root have the bytes, and pass them on by 2^k.
BroadcastRoute TreeRoute(int rank, int world_size, int root) {
  BroadcastRoute route;
  const int distance = (rank - root + world_size) % world_size;
  for (int step = 1; step < world_size; step *= 2) {
    if (step <= distance) {
      route.parent = (rank - step + world_size) % world_size;  // the last one: of the round it was reached in
    } else if (distance + step < world_size) {
      route.children.push_back((rank + step) % world_size);
    }
  }
  return route;
}

bool TreeIsFaster(int world_size, int64_t num_segments) {
  return Rounds(world_size) * num_segments < world_size - 1 + num_segments - 1;
}

absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Exchange* exchange) {
  const int n = exchange->world_size();
  if (n == 1) return absl::OkStatus();
  const size_t segment_bytes = exchange->options().segment_bytes;
  const auto num_segments = static_cast<int64_t>((bytes.size() + segment_bytes - 1) / segment_bytes);
  RETURN_IF_ERROR(exchange->CheckNumSegments(num_segments));
  const bool tree = TreeIsFaster(n, num_segments);
  const BroadcastRoute route =
      tree ? TreeRoute(exchange->rank(), n, root) : RingRoute(exchange->rank(), n, root);
  return Broadcaster(route, tree ? Exchange::kTreeStep : 0, bytes, num_segments, exchange).Run();
}

}  // namespace lockstep

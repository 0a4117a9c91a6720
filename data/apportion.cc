#include "data/apportion.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

// Products of two row counts need more than 64 bits.
__extension__ typedef __int128 Wide;

// Seats that `weight` is certain to get: the lower bound of the header, rounded down.
int64_t CertainSeats(int64_t seats, int64_t weight, int64_t total, int64_t parties) {
  const Wide twice = Wide{2} * seats - parties;
  if (twice <= 0) return 0;
  const Wide bound = twice * weight / (Wide{2} * total) - 1;
  return static_cast<int64_t>(std::max<Wide>(0, bound));
}

bool HasPriority(int64_t weight, int64_t seats, int64_t other_weight, int64_t other_seats) {
  return Wide{weight} * (2 * other_seats + 1) > Wide{other_weight} * (2 * seats + 1);
}

}  // namespace

std::vector<int64_t> Apportion(int64_t seats, absl::Span<const int64_t> weights) {
  const int64_t total = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  std::vector<int64_t> shares(weights.size());
  // Seats go out in one fixed order, so that beginning with those that are certain changes nothing.
  int64_t left = seats;
  for (size_t i = 0; i < weights.size(); ++i) {
    shares[i] = CertainSeats(seats, weights[i], total, static_cast<int64_t>(weights.size()));
    left -= shares[i];
  }
  for (; left > 0; --left) {
    size_t best = 0;
    for (size_t i = 1; i < weights.size(); ++i) {
      if (HasPriority(weights[i], shares[i], weights[best], shares[best])) best = i;
    }
    ++shares[best];
  }
  return shares;
}

}  // namespace lockstep

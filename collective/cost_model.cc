#include "collective/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep {
namespace {

// One hop keeps the buffers of all other ranks at once.
constexpr size_t kMostOneHopScratch = size_t{4} << 20;

// A mesh of more ranks is so many streams at once that its time for large buffers is not foreseen from that
// for small ones.
constexpr int kMostExtrapolatedMeshRanks = 8;

// Another algorithm than the preferred one must be faster by more than measurements differ.
constexpr double kClearlyFaster = 0.95;

constexpr double kNever = std::numeric_limits<double>::infinity();

const char* NameOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kAuto:
      break;
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kMesh:
      return "mesh";
    case Algorithm::kOneHop:
      return "one hop";
  }
  return "auto";
}

std::string FormatBytes(size_t bytes) {
  if (bytes < size_t{1} << 10) return absl::StrCat(bytes, " bytes");
  if (bytes < size_t{1} << 20)
    return absl::StrFormat("%.3g KiB", std::ldexp(static_cast<double>(bytes), -10));
  return absl::StrFormat("%.3g MiB", std::ldexp(static_cast<double>(bytes), -20));
}

}  // namespace

bool CostModel::MayUse(Algorithm algorithm, size_t bytes) const {
  return algorithm != Algorithm::kOneHop || bytes * (world_size_ - 1) <= kMostOneHopScratch;
}

void CostModel::Add(Algorithm algorithm, size_t bytes, double seconds) {
  points_[algorithm].push_back({bytes, seconds});
}

double CostModel::Estimate(Algorithm algorithm, size_t bytes) const {
  const auto of_algorithm = points_.find(algorithm);
  if (of_algorithm == points_.end() || !MayUse(algorithm, bytes)) return kNever;
  const std::vector<Point>& measured = of_algorithm->second;
  if (bytes <= measured.front().bytes || measured.size() == 1) return measured.front().seconds;
  const bool beyond = bytes > measured.back().bytes;
  if (beyond && algorithm == Algorithm::kMesh && world_size_ > kMostExtrapolatedMeshRanks) return kNever;
  size_t right = 1;
  while (right + 1 < measured.size() && measured[right].bytes < bytes) ++right;
  const Point& a = measured[right - 1];
  const Point& b = measured[right];
  const double slope = std::max(0.0, (b.seconds - a.seconds) / static_cast<double>(b.bytes - a.bytes));
  return a.seconds + slope * static_cast<double>(bytes - a.bytes);
}

Algorithm CostModel::Choose(size_t bytes) const {
  Algorithm best = Algorithm::kRing;
  double least = Estimate(best, bytes);
  for (const Algorithm algorithm : kMeasurableAlgorithms) {
    const double seconds = Estimate(algorithm, bytes);
    if (seconds >= least * kClearlyFaster) continue;
    best = algorithm;
    least = seconds;
  }
  return best;
}

std::string CostModel::ToString() const {
  constexpr double kFirst = 64;
  constexpr double kLast = 1 << 30;
  constexpr double kStep = 1.02;
  Algorithm current = Choose(static_cast<size_t>(kFirst));
  std::string text = NameOf(current);
  for (double bytes = kFirst; bytes < kLast; bytes *= kStep) {
    const Algorithm next = Choose(static_cast<size_t>(bytes));
    if (next == current) continue;
    current = next;
    absl::StrAppend(&text, ", ", NameOf(next), " from ", FormatBytes(static_cast<size_t>(bytes)));
  }
  return text;
}

}  // namespace lockstep

// How long an all-reduce takes by each algorithm, as measured when the group was formed, and which one is
// therefore chosen for a size.
//
// Whole all-reduces are measured, not latency and bandwidth: what a mesh loses when many send to one, what a
// ring gains by overlapping, what adding costs, is all in there. Between two measured sizes time grows in
// proportion; beyond the last one it goes on as it did before.
//
// A value type, deterministic: ranks that hold the same measurements choose alike.
#ifndef LOCKSTEP_COLLECTIVE_COST_MODEL_H_
#define LOCKSTEP_COLLECTIVE_COST_MODEL_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "collective/communicator.h"

namespace lockstep {

// In the order in which they are preferred when they take as long: the ring has the fewest connections and
// no two ranks that send to one, one hop moves the most bytes.
constexpr Algorithm kMeasurableAlgorithms[] = {Algorithm::kRing, Algorithm::kMesh, Algorithm::kOneHop};

class CostModel {
 public:
  // Nothing measured: always the ring.
  explicit CostModel(int world_size) : world_size_(world_size) {}

  // Whether an algorithm is worth measuring at this size at all.
  bool MayUse(Algorithm algorithm, size_t bytes) const;

  // `bytes` grows from call to call for one algorithm; seconds >= 0.
  void Add(Algorithm algorithm, size_t bytes, double seconds);

  // In seconds; infinite for an algorithm that is not to be used.
  double Estimate(Algorithm algorithm, size_t bytes) const;

  // Never kAuto.
  Algorithm Choose(size_t bytes) const;

  // "one hop, mesh from 181 KiB, ring from 8 MiB"
  std::string ToString() const;

 private:
  struct Point {
    size_t bytes;
    double seconds;
  };

  int world_size_;
  std::map<Algorithm, std::vector<Point>> points_;  // by growing size
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_COST_MODEL_H_

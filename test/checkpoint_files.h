// What a job has left in its checkpoint directory, as tests compare it.
#ifndef LOCKSTEP_TEST_CHECKPOINT_FILES_H_
#define LOCKSTEP_TEST_CHECKPOINT_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "proto/checkpoint.pb.h"

namespace lockstep {

using Tensors = std::map<std::string, std::vector<float>>;

// All of these die with a message if there is no whole checkpoint.

// Path of the newest checkpoint in `directory`; all that stand there must be whole. `latest` may name the one
// before it if the chief was killed between the two.
std::string NewestCheckpoint(const std::string& directory);
v1::CheckpointManifest ReadManifest(const std::string& directory);
Tensors ReadModel(const std::string& directory);
// The bytes of both tensor files, one after the other.
std::string TensorBytes(const std::string& directory);

// ||a - b|| <= tolerance ||a|| for each tensor; the names agree.
void ExpectClose(const Tensors& expected, const Tensors& actual, double tolerance);

// The bound of RULE E: equality of runs on different numbers of ranks, which sum in another order.
constexpr double kRuleE = 1e-5;

}  // namespace lockstep

#endif  // LOCKSTEP_TEST_CHECKPOINT_FILES_H_

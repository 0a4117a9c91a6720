// Small jobs and in-process groups for tests of the training side.
#ifndef LOCKSTEP_WORKER_TEST_SUPPORT_H_
#define LOCKSTEP_WORKER_TEST_SUPPORT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "data/dataset.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "worker/fit_listener.h"
#include "worker/fit_plan.h"
#include "worker/replica.h"

namespace lockstep {

// Parses a specification in text format; dies on a mistake.
v1::JobSpec ParseJobOrDie(const std::string& text);

// What one rank has after a fit.
struct RankResult {
  absl::StatusOr<v1::JobSummary> summary;
  std::vector<float> parameters;
  std::vector<std::vector<float>> slots;
};

struct FitRun {
  v1::JobSpec spec;
  // Called on each rank's thread.
  std::function<TrainingData(int rank)> data;
  std::string output_root;
  std::string data_root;              // of initial weights
  FileSystem* file_system = nullptr;  // of checkpoints; null: the real one. Not owned
  FitListener* chief_listener = nullptr;
};

// Fits as `world_size` ranks, each in a thread of this process, and returns their results by rank.
std::vector<RankResult> FitInProcess(const FitRun& run, int world_size);

// The same with a run of its own for each rank.
std::vector<RankResult> FitInProcessEach(const std::vector<FitRun>& runs);

// A dataset whose Read fails with DATA_LOSS "broken on purpose" after `reads` calls.
std::shared_ptr<const Dataset> FailAfterReads(std::shared_ptr<const Dataset> dataset, int reads);

// A fresh directory of the running test.
std::string MakeTestDirectory();

// ||a - b|| / ||a||, in double.
double RelativeDistance(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_TEST_SUPPORT_H_

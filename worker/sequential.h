// A stack of layers with Keras's life: add layers, compile, fit, evaluate, predict. The daemon runs jobs with
// this class; C++ programs use it directly (examples/toy.cc).
//
// Calls marked collective are made by every rank in the same order. One-thread.
#ifndef LOCKSTEP_WORKER_SEQUENTIAL_H_
#define LOCKSTEP_WORKER_SEQUENTIAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "worker/fit_plan.h"
#include "worker/replica.h"
#include "worker/strategy.h"

namespace lockstep {

struct FitState;

// What Fit needs beside the data; the messages of the job specification.
struct FitOptions {
  v1::Fit fit;
  v1::Threading threading;
  v1::CommunicationOptions communication;
  v1::Checkpoint checkpoint;    // without directory: nothing is saved
  std::string initial_weights;  // .safetensors below the data root; empty: the initialisers
  bool shuffle = true;          // a new permutation of all rows in every epoch
};

class Sequential {
 public:
  // Outside of any scope: such a model cannot be compiled.
  Sequential() = default;
  explicit Sequential(const Strategy::Scope& scope) : strategy_(scope.strategy()) {}

  // The model of a specification.
  Sequential(const Strategy::Scope& scope, const v1::Model& model)
      : strategy_(scope.strategy()), model_(model) {}

  // Shape of one row.
  void Input(const std::vector<int64_t>& shape);
  void Add(const v1::Layer& layer);

  // Creates the variables.
  // FAILED_PRECONDITION: the model was created outside of a strategy's scope, or was compiled before.
  // INVALID_ARGUMENT: a mistake in the model or in `compile`, named by its path.
  absl::Status Compile(const v1::Compile& compile);

  // Collective. Trains.
  absl::StatusOr<v1::JobSummary> Fit(const TrainingData& data, const FitOptions& options);
  // The same for a whole specification, whose model and compile must be this model's.
  absl::StatusOr<v1::JobSummary> Fit(const TrainingData& data, const v1::JobSpec& spec);
  // The same, going on from where `state` says, if that is live. After an error it says where the fit is.
  absl::StatusOr<v1::JobSummary> Fit(const TrainingData& data, const v1::JobSpec& spec, FitState* state);

  // Collective. Parameters from the newest valid checkpoint in `directory` (below the output root) on rank 0.
  absl::Status LoadCheckpoint(const std::string& directory);

  // Collective. Loss and metrics over all rows.
  absl::StatusOr<v1::JobSummary> Evaluate(std::shared_ptr<const Dataset> dataset, const v1::JobSpec& spec);

  // Collective. Rank 0 writes the outputs of all rows, in row order, to `output` (.npy, below the output
  // root).
  absl::StatusOr<v1::JobSummary> Predict(std::shared_ptr<const Dataset> dataset, const v1::JobSpec& spec,
                                         const std::string& output);

  const Replica& replica() const { return *replica_; }

 private:
  absl::Status CheckCompiled() const;
  absl::StatusOr<v1::JobSummary> EvaluateRows(std::shared_ptr<const Dataset> dataset,
                                              const v1::JobSpec& spec);
  absl::StatusOr<v1::JobSummary> PredictRows(std::shared_ptr<const Dataset> dataset, const v1::JobSpec& spec,
                                             const std::string& output);

  Strategy* strategy_ = nullptr;
  v1::Model model_;
  v1::Compile compile_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_SEQUENTIAL_H_

// Synchronous data-parallel training over the ranks of one group: the place where data, model and collective
// meet.
//
// A model and its variables are created inside the strategy's scope, which makes them mirrored: every rank
// holds the same bits after each step.
//
//   Strategy::Scope scope = strategy.EnterScope();
//   Sequential model(scope);
//
// One-thread. MultiWorkerStrategy makes one from TF_CONFIG; the daemon makes one per job.
#ifndef LOCKSTEP_WORKER_STRATEGY_H_
#define LOCKSTEP_WORKER_STRATEGY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "collective/communicator.h"
#include "worker/fit_listener.h"

namespace lockstep {

struct StrategyOptions {
  std::string data_root = ".";        // relative paths of data lie below it
  std::string output_root = ".";      // relative paths of checkpoints and predictions lie below it
  FitListener* listener = nullptr;    // null: nobody listens. Not owned
  FileSystem* file_system = nullptr;  // null: the real one. Not owned
};

class Strategy {
 public:
  // Ends with the object. Models made in it must not outlive the strategy.
  class Scope {
   public:
    Strategy* strategy() const { return strategy_; }

   private:
    friend class Strategy;
    explicit Scope(Strategy* strategy) : strategy_(strategy) {}
    Strategy* strategy_;
  };

  // Nothing is owned.
  Strategy(Communicator* communicator, const StrategyOptions& options)
      : communicator_(communicator), options_(options) {}
  Scope EnterScope() { return Scope(this); }

  // Goes on with another group: of the same job, after an interruption.
  void Regroup(Communicator* communicator, FitListener* listener) {
    communicator_ = communicator;
    options_.listener = listener;
    status_ = absl::OkStatus();
  }

  int rank() const { return communicator_->rank(); }
  int world_size() const { return communicator_->world_size(); }
  Communicator* communicator() const { return communicator_; }
  const StrategyOptions& options() const { return options_; }

  // The first error of a collective call made with this strategy; the group cannot be used after one.
  const absl::Status& status() const { return status_; }
  void RecordError(const absl::Status& error) {
    if (status_.ok()) status_ = error;
  }

 private:
  Communicator* communicator_;
  StrategyOptions options_;
  absl::Status status_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_STRATEGY_H_

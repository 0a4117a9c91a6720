// Runs a job specification on this rank: what the daemon does with a submitted job, or with the file of
// --job.
#ifndef LOCKSTEP_WORKER_SPEC_JOB_H_
#define LOCKSTEP_WORKER_SPEC_JOB_H_

#include <optional>
#include <string>

#include "proto/job.pb.h"
#include "worker/job_runner.h"

namespace lockstep {

class SpecJob : public JobBody {
 public:
  struct Options {
    std::string data_root = ".";
    std::string output_root = ".";
    // The node's own specification (lockstepd --job), taken instead of the chief's. The ranks compare theirs
    // before the first step.
    std::optional<v1::JobSpec> own_spec;
  };

  explicit SpecJob(const Options& options) : options_(options) {}

  absl::StatusOr<v1::JobSummary> Run(const v1::StartJob& start, Communicator* communicator,
                                     FitListener* listener) override;
  int Connections(const v1::StartJob& start) const override;
  CommunicatorOptions Communication(const v1::StartJob& start) const override;

 private:
  const v1::JobSpec& SpecOf(const v1::StartJob& start) const {
    return options_.own_spec.has_value() ? *options_.own_spec : start.spec();
  }

  const Options options_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_SPEC_JOB_H_

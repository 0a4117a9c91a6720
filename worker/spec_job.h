// Runs a job specification on this rank: what the daemon does with a submitted job, or with the file of
// --job. From one generation of a job to the next it keeps the model, the data and where the fit is.
#ifndef LOCKSTEP_WORKER_SPEC_JOB_H_
#define LOCKSTEP_WORKER_SPEC_JOB_H_

#include <memory>
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

  explicit SpecJob(const Options& options);
  ~SpecJob() override;

  absl::StatusOr<v1::JobSummary> Run(const v1::StartJob& start, Communicator* communicator,
                                     FitListener* listener) override;
  void Forget(const std::string& job_id) override;
  int Connections(const v1::StartJob& start) const override;
  CommunicatorOptions Communication(const v1::StartJob& start) const override;

 private:
  const v1::JobSpec& SpecOf(const v1::StartJob& start) const {
    return options_.own_spec.has_value() ? *options_.own_spec : start.spec();
  }

  struct Session;

  absl::StatusOr<std::unique_ptr<Session>> Open(const v1::JobSpec& spec, Communicator* communicator,
                                                FitListener* listener) const;

  const Options options_;
  std::unique_ptr<Session> session_;  // of the newest job; null: none
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_SPEC_JOB_H_

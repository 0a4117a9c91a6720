#include "worker/spec_job.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "worker/agreement.h"
#include "worker/fit_state.h"
#include "worker/job_check.h"
#include "worker/sequential.h"
#include "worker/strategy.h"

namespace lockstep {
namespace {

Compression CompressionOf(const v1::CommunicationOptions& spec) {
  if (spec.compression() == v1::CommunicationOptions::BF16) return Compression::kBfloat16;
  return spec.compression() == v1::CommunicationOptions::FP16 ? Compression::kFloat16 : Compression::kNone;
}

std::string TaskName(const v1::JobSpec& spec) {
  return v1::JobSpec::Task_Name(spec.task() == v1::JobSpec::TASK_UNSPECIFIED ? v1::JobSpec::FIT
                                                                             : spec.task());
}

}  // namespace

int SpecJob::Connections(const v1::StartJob& start) const {
  return std::max(1, SpecOf(start).communication_options().connections());
}

CommunicatorOptions SpecJob::Communication(const v1::StartJob& start) const {
  const v1::CommunicationOptions& spec = SpecOf(start).communication_options();
  CommunicatorOptions options;
  if (spec.implementation() == v1::CommunicationOptions::RING) options.algorithm = Algorithm::kRing;
  const bool by_messages = spec.implementation() == v1::CommunicationOptions::RING ||
                           spec.implementation() == v1::CommunicationOptions::GRPC;
  options.shared_memory = by_messages ? SharedMemoryUse::kNever : SharedMemoryUse::kAuto;
  options.compression = CompressionOf(spec);
  if (spec.timeout_seconds() > 0) options.timeout = absl::Seconds(spec.timeout_seconds());
  return options;
}

struct SpecJob::Session {
  Session(Communicator* communicator, const StrategyOptions& options, const v1::Model& spec)
      : strategy(communicator, options), model(strategy.EnterScope(), spec) {}

  std::string job_id;
  Strategy strategy;
  Sequential model;
  TrainingData data;
  FitState fit;
};

SpecJob::SpecJob(const Options& options) : options_(options) {}
SpecJob::~SpecJob() = default;

absl::StatusOr<std::unique_ptr<SpecJob::Session>> SpecJob::Open(const v1::JobSpec& spec,
                                                                Communicator* communicator,
                                                                FitListener* listener) const {
  StrategyOptions options;
  options.data_root = options_.data_root;
  options.output_root = options_.output_root;
  options.listener = listener;
  auto session = std::make_unique<Session>(communicator, options, spec.model());
  RETURN_IF_ERROR(session->model.Compile(spec.compile()));
  ASSIGN_OR_RETURN(session->data, OpenTrainingData(spec, options_.data_root));
  return session;
}

absl::StatusOr<v1::JobSummary> SpecJob::Run(const v1::StartJob& start, Communicator* communicator,
                                            FitListener* listener) {
  const v1::JobSpec& spec = SpecOf(start);
  RETURN_IF_ERROR(CheckJob(spec));
  // First of all: other tasks run other collectives. With --job every node has a file of its own.
  RETURN_IF_ERROR(CheckFingerprints(communicator, {{"task", TaskName(spec)}}));
  if (session_ != nullptr && session_->job_id == start.job_id()) {
    session_->strategy.Regroup(communicator, listener);
  } else {
    session_.reset();
    ASSIGN_OR_RETURN(session_, Open(spec, communicator, listener));
    session_->job_id = session_->fit.job_id = start.job_id();
  }
  Sequential& model = session_->model;
  const TrainingData& data = session_->data;
  if (spec.task() != v1::JobSpec::EVALUATE && spec.task() != v1::JobSpec::PREDICT)
    return model.Fit(data, spec, &session_->fit);
  RETURN_IF_ERROR(model.LoadCheckpoint(spec.checkpoint().directory()));
  const std::shared_ptr<const Dataset>& rows = data.validation != nullptr ? data.validation : data.train;
  if (spec.task() == v1::JobSpec::EVALUATE) return model.Evaluate(rows, spec);
  return model.Predict(rows, spec, spec.predict().output());
}

void SpecJob::Forget(const std::string& job_id) {
  if (session_ != nullptr && session_->job_id == job_id) session_.reset();
}

}  // namespace lockstep

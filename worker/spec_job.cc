#include "worker/spec_job.h"

#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "worker/agreement.h"
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

absl::StatusOr<v1::JobSummary> SpecJob::Run(const v1::StartJob& start, Communicator* communicator,
                                            FitListener* listener) {
  const v1::JobSpec& spec = SpecOf(start);
  RETURN_IF_ERROR(CheckJob(spec));
  // First of all: other tasks run other collectives. With --job every node has a file of its own.
  RETURN_IF_ERROR(CheckFingerprints(communicator, {{"task", TaskName(spec)}}));
  StrategyOptions options;
  options.data_root = options_.data_root;
  options.output_root = options_.output_root;
  options.listener = listener;
  Strategy strategy(communicator, options);
  const Strategy::Scope scope = strategy.EnterScope();
  Sequential model(scope, spec.model());
  RETURN_IF_ERROR(model.Compile(spec.compile()));
  ASSIGN_OR_RETURN(const TrainingData data, OpenTrainingData(spec, options_.data_root));

  if (spec.task() != v1::JobSpec::EVALUATE && spec.task() != v1::JobSpec::PREDICT)
    return model.Fit(data, spec);
  RETURN_IF_ERROR(model.LoadCheckpoint(spec.checkpoint().directory()));
  const std::shared_ptr<const Dataset>& rows = data.validation != nullptr ? data.validation : data.train;
  if (spec.task() == v1::JobSpec::EVALUATE) return model.Evaluate(rows, spec);
  return model.Predict(rows, spec, spec.predict().output());
}

}  // namespace lockstep

#include "worker/test_support.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "collective/communicator.h"
#include "collective/transport/in_process_transport.h"
#include "gtest/gtest.h"
#include "worker/job_file.h"
#include "worker/sequential.h"
#include "worker/strategy.h"

namespace lockstep {

v1::JobSpec ParseJobOrDie(const std::string& text) {
  absl::StatusOr<v1::JobSpec> spec = ParseJob(text, "test");
  CHECK(spec.ok()) << spec.status();
  return *std::move(spec);
}

namespace {

RankResult FitAsRank(const FitRun& run, std::unique_ptr<Transport> transport) {
  const int rank = transport->rank();
  auto communicator = Communicator::Create(std::move(transport), CommunicatorOptions());
  CHECK(communicator.ok()) << communicator.status();
  StrategyOptions options;
  options.output_root = run.output_root;
  options.data_root = run.data_root;
  options.file_system = run.file_system;
  options.listener = rank == 0 ? run.chief_listener : nullptr;
  Strategy strategy(communicator->get(), options);
  Sequential model(strategy.EnterScope(), run.spec.model());
  RankResult result{absl::UnknownError("did not run"), {}, {}};
  if (absl::Status compiled = model.Compile(run.spec.compile()); compiled.ok()) {
    result.summary = model.Fit(run.data(rank), run.spec);
  } else {
    result.summary = compiled;
  }
  if (!result.summary.ok()) {
    // As the daemon does: the others leave too.
    (*communicator)->Abort(result.summary.status());
    return result;
  }
  const Replica& replica = model.replica();
  result.parameters.assign(replica.parameters().begin(), replica.parameters().end());
  for (const absl::Span<float> slot : replica.slots()) result.slots.emplace_back(slot.begin(), slot.end());
  return result;
}

}  // namespace

std::vector<RankResult> FitInProcessEach(const std::vector<FitRun>& runs) {
  const int world_size = static_cast<int>(runs.size());
  std::vector<std::unique_ptr<Transport>> transports = MakeInProcessGroup(world_size);
  std::vector<RankResult> results(world_size, RankResult{absl::UnknownError("did not run"), {}, {}});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&runs, &results, rank, transport = std::move(transports[rank])]() mutable {
      results[rank] = FitAsRank(runs[rank], std::move(transport));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::vector<RankResult> FitInProcess(const FitRun& run, int world_size) {
  return FitInProcessEach(std::vector<FitRun>(world_size, run));
}

namespace {

class FailingDataset : public Dataset {
 public:
  FailingDataset(std::shared_ptr<const Dataset> dataset, int reads)
      : dataset_(std::move(dataset)), reads_left_(reads) {}

  const DatasetInfo& info() const override { return dataset_->info(); }
  absl::Status Read(absl::Span<const int64_t> rows, float* features,
                    const LabelBuffer& labels) const override {
    if (reads_left_-- <= 0) return absl::DataLossError("broken on purpose");
    return dataset_->Read(rows, features, labels);
  }
  std::string Locate(int64_t row) const override { return dataset_->Locate(row); }

 private:
  const std::shared_ptr<const Dataset> dataset_;
  mutable std::atomic<int> reads_left_;
};

}  // namespace

std::shared_ptr<const Dataset> FailAfterReads(std::shared_ptr<const Dataset> dataset, int reads) {
  return std::make_shared<FailingDataset>(std::move(dataset), reads);
}

std::string MakeTestDirectory() {
  std::string path = absl::StrCat(::testing::TempDir(), "/lockstep-XXXXXX");
  CHECK(mkdtemp(path.data()) != nullptr) << path;
  return path;
}

double RelativeDistance(const std::vector<float>& a, const std::vector<float>& b) {
  CHECK_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double delta = static_cast<double>(a[i]) - b[i];
    difference += delta * delta;
    norm += static_cast<double>(a[i]) * a[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

}  // namespace lockstep

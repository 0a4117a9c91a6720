// Dense 32 relu -> Dense 2 on 1000 x 20 random features: the job of toy.textproto as a program of its own.
// Run it on every node of a cluster; TF_CONFIG tells them apart. Without TF_CONFIG it trains alone.
#include <cstdio>
#include <string>

#include "base/status_macros.h"
#include "data/synthetic_dataset.h"
#include "worker/multi_worker_strategy.h"
#include "worker/sequential.h"
#include "worker/specs.h"

absl::Status Train() {
  using namespace lockstep;
  ASSIGN_OR_RETURN(auto strategy, MultiWorkerStrategy::FromEnvironment());
  Sequential model(strategy->EnterScope());
  model.Input({20});
  model.Add(Dense(32, v1::RELU));
  model.Add(Dense(2));
  RETURN_IF_ERROR(
      model.Compile(MakeCompile(Adam(), SparseCategoricalCrossentropy(Outputs::kLogits), {"accuracy"})));

  TrainingData data;
  ASSIGN_OR_RETURN(data.train,
                   SyntheticDataset::Create({/*rows=*/1000, /*feature_shape=*/{20}, /*classes=*/2}));
  FitOptions options;
  options.fit.set_epochs(3);
  options.fit.set_batch_size(32);  // rows of all workers together
  options.fit.set_seed(1);
  ASSIGN_OR_RETURN(const v1::JobSummary summary, model.Fit(data, options));
  if (strategy->rank() != 0) return absl::OkStatus();
  for (const v1::NamedValue& metric : summary.metrics())
    std::printf("%s %.6f\n", metric.name().c_str(), metric.value());
  std::printf("parameter_hash %s\n", summary.parameter_hash().c_str());
  return absl::OkStatus();
}

int main() {
  const absl::Status status = Train();
  if (!status.ok()) std::fprintf(stderr, "toy: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

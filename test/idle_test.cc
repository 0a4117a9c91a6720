// A10: connections that are idle for long stay up. In real time, so slow: run with --test_tag_filters=slow.
// The suite has the same scaled down (collective/transport/grpc_transport_test).
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/status_matchers.h"
#include "data/array_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/cluster.h"
#include "test/jobs.h"
#include "worker/multi_worker_strategy.h"
#include "worker/sequential.h"
#include "worker/specs.h"

namespace lockstep {
namespace {

// Real time is what is tested here.
void BeIdleFor(absl::Duration duration) { absl::SleepFor(duration); }

// Lets its first reader wait.
class SlowDataset : public Dataset {
 public:
  SlowDataset(std::shared_ptr<const Dataset> dataset, absl::Duration pause)
      : dataset_(std::move(dataset)), pause_(pause) {}

  const DatasetInfo& info() const override { return dataset_->info(); }
  absl::Status Read(absl::Span<const int64_t> rows, float* features,
                    const LabelBuffer& labels) const override {
    {
      MutexLock lock(&mutex_);
      if (!std::exchange(paused_, true)) BeIdleFor(pause_);
    }
    return dataset_->Read(rows, features, labels);
  }
  std::string Locate(int64_t row) const override { return dataset_->Locate(row); }

 private:
  const std::shared_ptr<const Dataset> dataset_;
  const absl::Duration pause_;
  mutable Mutex mutex_;
  mutable bool paused_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status Train(const std::string& tf_config, absl::Duration pause) {
  auto strategy = MultiWorkerStrategy::Create(tf_config, MultiWorkerOptions());
  if (!strategy.ok()) return strategy.status();
  Sequential model((*strategy)->EnterScope());
  model.Input({1});
  model.Add(Dense(1));
  if (absl::Status compiled = model.Compile(MakeCompile(Sgd(), MeanSquaredError())); !compiled.ok())
    return compiled;
  TrainingData data;
  data.train = *ArrayDataset::CreateWithValues({1, 2, 3, 4}, {1}, {2, 4, 6, 8});
  if ((*strategy)->rank() == 1) data.train = std::make_shared<SlowDataset>(data.train, pause);
  FitOptions options;
  options.fit.set_epochs(2);
  options.fit.set_batch_size(4);
  options.fit.set_seed(1);
  return model.Fit(data, options).status();
}

TEST(IdleTest, A10AJobWaitsNinetySecondsForTheInputOfOneRank) {
  const std::vector<std::string> addresses = ChooseAddresses(2);
  absl::Status other;
  std::thread rank_1([&] { other = Train(WorkerTfConfig(addresses, 1), absl::Seconds(90)); });
  EXPECT_OK(Train(WorkerTfConfig(addresses, 0), absl::ZeroDuration()));
  rank_1.join();
  EXPECT_OK(other);
}

TEST(IdleTest, A10ADaemonThatWasIdleForTenMinutesTakesAJobAtOnce) {
  ClusterOptions options;
  options.world_size = 2;
  Cluster cluster(options);
  ASSERT_OK(cluster.client().AwaitComplete());
  BeIdleFor(absl::Minutes(10));
  const absl::Time submitted = absl::Now();
  ASSERT_OK_AND_ASSIGN(const v1::Job job, cluster.client(1).Run(ToyJob()));
  EXPECT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  EXPECT_LT(absl::Now() - submitted, absl::Seconds(10));
}

}  // namespace
}  // namespace lockstep

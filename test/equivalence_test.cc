// What a job computes does not depend on how many processes compute it, nor on the run.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/checkpoint_files.h"
#include "test/cluster.h"
#include "test/files.h"
#include "test/jobs.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// What is left of one fit on a cluster of its own.
struct FitResult {
  v1::Job job;
  Tensors model;
  std::string bytes;                // of the saved tensors
  std::vector<std::string> hashes;  // of the parameters after each epoch
  v1::Cluster cluster;              // afterwards
};

// Two files of 100 and 110 rows: one output that is nearly linear in two inputs.
void WriteCsvFiles(const Cluster& cluster) {
  std::string first = "a,b,y\n", second = first;
  for (int row = 0; row < 210; ++row) {
    const double a = (row * 37 % 101) / 101.0, b = (row * 53 % 97) / 97.0;
    absl::StrAppend(row < 100 ? &first : &second, a, ",", b, ",", 2 * a - b + 0.1 * a * b, "\n");
  }
  WriteFileOrDie(cluster.data_path("first.csv"), first);
  WriteFileOrDie(cluster.data_path("second.csv"), second);
}

v1::JobSpec CsvJob() {
  return ParseJobOrDie(R"(
      model { input { shape: 2 } layers { dense { units: 8 activation: TANH } } layers { dense { units: 1 } } }
      compile { optimizer { rmsprop {} } loss { mean_squared_error {} } metrics: "mae" }
      data { train { csv { paths: "first.csv" paths: "second.csv" label: "y" } shuffle: true } }
      fit { epochs: 2 batch_size: 20 seed: 5 }
      threading { intra_op_threads: 1 }
      checkpoint { directory: "csv" })");
}

FitResult FitOn(int world_size, const v1::JobSpec& spec, int ranks_per_host = 0) {
  ClusterOptions options;
  options.world_size = world_size;
  options.ranks_per_host = ranks_per_host;
  Cluster cluster(options);
  WriteCsvFiles(cluster);
  JobClient client = cluster.client();
  FitResult result;
  const absl::StatusOr<std::string> id = client.Submit(spec);
  EXPECT_OK(id);
  const absl::StatusOr<std::vector<v1::JobEvent>> events = client.Events(*id);
  EXPECT_OK(events);
  for (const v1::JobEvent& event : *events)
    if (event.has_epoch_end()) result.hashes.push_back(event.epoch_end().parameter_hash());
  result.job = *client.GetJob(*id);
  result.cluster = *client.DescribeCluster();
  EXPECT_EQ(result.job.state(), v1::SUCCEEDED) << result.job.error();
  if (result.job.state() != v1::SUCCEEDED) return result;
  const std::string directory = cluster.output_path(spec.checkpoint().directory());
  result.model = ReadModel(directory);
  result.bytes = TensorBytes(directory);
  EXPECT_EQ(ReadManifest(directory).parameter_hash(), result.job.summary().parameter_hash());
  return result;
}

void ExpectRuleE(const v1::JobSpec& spec, const std::vector<std::string>& metrics) {
  const FitResult one = FitOn(1, spec);
  for (int n = 2; n <= 4; ++n) {
    SCOPED_TRACE(absl::StrCat("world size ", n));
    const FitResult many = FitOn(n, spec);
    EXPECT_EQ(many.job.summary().world_size(), n);
    EXPECT_EQ(many.job.summary().steps(), one.job.summary().steps());
    ExpectClose(one.model, many.model, kRuleE);
    for (const std::string& metric : metrics) {
      const double expected = MetricOf(one.job.summary(), metric);
      EXPECT_NEAR(MetricOf(many.job.summary(), metric), expected, kRuleE * expected) << metric;
    }
  }
}

TEST(EquivalenceTest, RuleEHoldsForTheToyOverOneToFourProcesses) {
  ExpectRuleE(ToyJob(), {"loss", "accuracy"});
}

TEST(EquivalenceTest, A15RuleEHoldsForCsvFilesOfUnequalLength) { ExpectRuleE(CsvJob(), {"loss", "mae"}); }

TEST(EquivalenceTest, RuleEHoldsForAValidationSplit) {
  v1::JobSpec spec = ToyJob();
  spec.mutable_data()->set_validation_split(0.25);
  spec.mutable_fit()->set_epochs(1);
  ExpectRuleE(spec, {"loss", "accuracy", "val_loss", "val_accuracy"});
}

TEST(EquivalenceTest, TwoRunsOfTheSameJobGiveTheSameBytes) {
  for (const v1::JobSpec& spec : {ToyJob(), CsvJob()}) {
    const FitResult first = FitOn(2, spec), second = FitOn(2, spec);
    EXPECT_EQ(first.bytes, second.bytes);
    EXPECT_EQ(first.hashes, second.hashes);
    EXPECT_THAT(first.hashes, SizeIs(spec.fit().epochs()));
    EXPECT_THAT(first.hashes, Each(SizeIs(16)));
  }
}

// Layers whose gradient is 4 MiB, the default limit of a gRPC message, and a little more.
v1::JobSpec LargeJob(const std::string& dense) {
  return ParseJobOrDie(absl::StrCat("model { input { shape: 1024 } layers { dense { ", dense, R"( } } }
         compile { optimizer { sgd {} } loss { sparse_categorical_crossentropy { from_logits: true } } }
         data { train { synthetic { rows: 16 feature_shape: 1024 classes: 10 } } }
         fit { epochs: 1 batch_size: 8 seed: 1 }
         threading { intra_op_threads: 1 }
         checkpoint { directory: "large" })"));
}

TEST(EquivalenceTest, A09TensorsBeyondFourMebibytesTravel) {
  for (const char* dense : {"units: 1024 use_bias: false", "units: 1025 use_bias: false", "units: 1100"}) {
    SCOPED_TRACE(dense);
    const v1::JobSpec spec = LargeJob(dense);
    ExpectClose(FitOn(1, spec).model, FitOn(2, spec).model, kRuleE);
  }
}

FitResult FitBy(v1::CommunicationOptions::Implementation implementation,
                v1::CommunicationOptions::Compression compression, int connections = 1) {
  v1::JobSpec spec = LargeJob("units: 1025");
  spec.mutable_communication_options()->set_implementation(implementation);
  spec.mutable_communication_options()->set_compression(compression);
  spec.mutable_communication_options()->set_connections(connections);
  return FitOn(3, spec);
}

TEST(EquivalenceTest, GradientsHaveTheSameBitsHoweverTheyTravel) {
  using Options = v1::CommunicationOptions;
  const FitResult in_shared_memory = FitBy(Options::AUTO, Options::NONE);
  EXPECT_EQ(FitBy(Options::GRPC, Options::NONE).bytes, in_shared_memory.bytes);
  EXPECT_EQ(FitBy(Options::RING, Options::NONE).bytes, in_shared_memory.bytes);
  EXPECT_EQ(FitBy(Options::GRPC, Options::NONE, /*connections=*/3).bytes, in_shared_memory.bytes);
  for (const auto compression : {Options::BF16, Options::FP16}) {
    const FitResult compressed = FitBy(Options::AUTO, compression);
    EXPECT_EQ(FitBy(Options::GRPC, compression).bytes, compressed.bytes);
    EXPECT_NE(compressed.bytes, in_shared_memory.bytes);
    // A few per cent of a few small updates.
    ExpectClose(in_shared_memory.model, compressed.model, 1e-3);
  }
}

// Two ranks on one host and one on another, as TF_CONFIG tells.
TEST(EquivalenceTest, SumsByHostsHaveTheSameBitsHoweverTheyTravel) {
  v1::JobSpec spec = LargeJob("units: 1025");
  const FitResult in_shared_memory = FitOn(3, spec, /*ranks_per_host=*/2);
  EXPECT_EQ(in_shared_memory.cluster.exchange(), "messages between 2 hosts, shared memory within");
  EXPECT_THAT(in_shared_memory.cluster.paths(), ElementsAre("-su", "s-u", "uu-"));
  spec.mutable_communication_options()->set_implementation(v1::CommunicationOptions::GRPC);
  const FitResult by_messages = FitOn(3, spec, /*ranks_per_host=*/2);
  EXPECT_EQ(by_messages.cluster.exchange(), "messages between 2 hosts, messages within");
  EXPECT_THAT(by_messages.cluster.paths(), ElementsAre("-uu", "u-u", "uu-"));
  EXPECT_EQ(by_messages.bytes, in_shared_memory.bytes);
  ExpectClose(FitOn(1, spec).model, in_shared_memory.model, kRuleE);
}

TEST(EquivalenceTest, A09AWorkerThatStartsAnewGetsLargeWeightsFromTheChief) {
  v1::JobSpec spec = LargeJob("units: 1100");
  spec.mutable_fit()->set_epochs(2);
  const FitResult undisturbed = FitOn(2, spec);
  ClusterOptions options;
  options.world_size = 2;
  Cluster cluster(options);
  v1::JobSpec half = spec;
  half.mutable_fit()->set_epochs(1);
  ASSERT_OK_AND_ASSIGN(v1::Job job, cluster.client().Run(half));
  ASSERT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  cluster.daemon(1).Kill();
  cluster.Launch(1);
  ASSERT_OK_AND_ASSIGN(job, cluster.client().Run(spec));
  ASSERT_EQ(job.state(), v1::SUCCEEDED) << job.error();
  EXPECT_EQ(TensorBytes(cluster.output_path("large")), undisturbed.bytes);
}

}  // namespace
}  // namespace lockstep

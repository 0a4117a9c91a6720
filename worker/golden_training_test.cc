// Ten training steps through the whole runtime (Sequential, Replica, TrainStep) against a recorded run of
// torch's autograd and Keras's update rules, both in float64 (test/golden/make_training.py).
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "data/array_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/replica.h"
#include "worker/safetensors_writer.h"
#include "worker/test_support.h"

namespace lockstep {
namespace {

// float32 against float64: ten steps of sums over at most 32 products, of relative error 6e-8 each.
constexpr double kTolerance = 1e-5;

using Json = nlohmann::json;

const Json& Golden() {
  static const auto* golden = [] {
    std::ifstream file("test/golden/training.json");
    EXPECT_TRUE(file.good()) << "test/golden/training.json is missing";
    return new Json(Json::parse(file));
  }();
  return *golden;
}

std::string Text(const Json& text) { return text.get<std::string>(); }

// The two dense layers of a recorded run, named as its weights are; all rows in each step.
v1::JobSpec Spec(const Json& run, const Json& problem) {
  const std::vector<int> sizes = problem.at("sizes");
  return ParseJobOrDie(absl::Substitute(
      R"(model { input { shape: $0 }
                 layers { name: "dense_0" dense { units: $1 activation: $2 } }
                 layers { name: "dense_1" dense { units: $3 activation: $4 } } }
         compile { optimizer { $5 } loss { $6 } }
         data { train { synthetic {} } }
         fit { epochs: $7 batch_size: $8 seed: 1 }
         threading { intra_op_threads: 1 }
         initial_weights: "initial.safetensors")",
      sizes[0], sizes[1], Text(run.at("hidden_activation")), sizes[2], Text(run.at("output_activation")),
      Text(run.at("optimizer")), Text(run.at("loss")), run.at("losses").size(),
      problem.at("rows").get<int>()));
}

std::shared_ptr<const Dataset> Rows(const Json& run, const Json& problem) {
  const std::vector<float> features = problem.at("features");
  const int64_t inputs = problem.at("sizes").at(0);
  const Json& labels = problem.at("labels").at(run.at("labels"));
  if (run.at("labels") == "classes") return *ArrayDataset::Create(features, {inputs}, labels);
  const int64_t outputs = problem.at("sizes").at(2);
  return *ArrayDataset::CreateWithValues(features, {inputs}, labels, {outputs});
}

void WriteInitialWeights(const Json& problem, const Replica& replica, const std::string& path) {
  std::map<std::string, std::vector<float>> values;
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : replica.network().layout().parameters()) {
    std::vector<float>& tensor = values[parameter.name];
    tensor = problem.at("initial_weights").at(parameter.name).get<std::vector<float>>();
    tensors.push_back({parameter.name, parameter.shape, tensor});
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WritableFile> file, FileSystem::Posix()->CreateFile(path));
  ASSERT_OK(WriteSafetensors(tensors, {}, file.get()));
  ASSERT_OK(file->Close());
}

class GoldenTrainingTest : public ::testing::TestWithParam<size_t> {};

TEST_P(GoldenTrainingTest, TenStepsOnOneAndTwoRanksArriveAtTheRecordedWeights) {
  const Json& recorded = Golden().at("runs").at(GetParam());
  const Json& problem = Golden().at("problems").at(recorded.at("problem"));
  FitRun run;
  run.spec = Spec(recorded, problem);
  run.data = [&](int) { return TrainingData{Rows(recorded, problem), nullptr}; };
  run.data_root = MakeTestDirectory();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Replica> replica,
                       Replica::Create(run.spec.model(), run.spec.compile()));
  WriteInitialWeights(problem, *replica, run.data_root + "/initial.safetensors");

  for (const int world_size : {1, 2}) {
    for (const RankResult& result : FitInProcess(run, world_size)) {
      ASSERT_OK(result.summary);
      for (size_t step = 0; step < recorded.at("losses").size(); ++step) {
        const double loss = recorded.at("losses").at(step);
        EXPECT_NEAR(result.summary->history(static_cast<int>(step)).metrics(0).value(), loss,
                    kTolerance * loss)
            << "step " << step;
      }
      for (const Parameter& parameter : replica->network().layout().parameters()) {
        const auto begin = result.parameters.begin() + parameter.offset;
        EXPECT_LE(RelativeDistance(recorded.at("final_weights").at(parameter.name),
                                   {begin, begin + parameter.size}),
                  kTolerance)
            << parameter.name << " on " << world_size << " ranks";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, GoldenTrainingTest, ::testing::Range<size_t>(0, Golden().at("runs").size()),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           return Text(Golden().at("runs").at(info.param).at("name"));
                         });

}  // namespace
}  // namespace lockstep

// Time of a forward and a backward pass: bazel run //model:network_benchmark
#include <cstdint>
#include <string>
#include <vector>

#include "base/logging.h"
#include "benchmark/benchmark.h"
#include "google/protobuf/text_format.h"
#include "model/network.h"
#include "proto/model.pb.h"

namespace lockstep {
namespace {

constexpr char kToy[] =
    "input { shape: 20 } layers { dense { units: 32 activation: RELU } } layers { dense { units: 2 } }";
constexpr char kMlp[] =
    "input { shape: 784 } layers { dense { units: 512 activation: RELU } }"
    "layers { dense { units: 512 activation: RELU } } layers { dense { units: 10 } }";

void BM_Step(benchmark::State& state, const std::string& text) {
  const int64_t rows = state.range(0);
  v1::Model spec;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &spec));
  absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(spec);
  CHECK(network.ok()) << network.status();
  CHECK((*network)->Prepare(rows, static_cast<int>(state.range(1))).ok());
  std::vector<float> parameters(static_cast<size_t>((*network)->layout().size()));
  std::vector<float> gradients(parameters.size());
  (*network)->Initialize(1, absl::MakeSpan(parameters));
  const std::vector<float> features(static_cast<size_t>(rows * NumElements((*network)->input_shape())), 0.5f);
  const std::vector<float> output_gradient(
      static_cast<size_t>(rows * NumElements((*network)->output_shape())), 0.5f);
  PassContext context;
  context.training = true;
  for (auto _ : state) {
    CHECK((*network)->Forward(parameters, features.data(), rows, context).ok());
    CHECK((*network)->Backward(parameters, output_gradient.data(), absl::MakeSpan(gradients), nullptr).ok());
  }
  state.SetItemsProcessed(state.iterations() * rows);
}

BENCHMARK_CAPTURE(BM_Step, toy, kToy)->ArgNames({"rows", "threads"})->Args({32, 1});
BENCHMARK_CAPTURE(BM_Step, mlp, kMlp)
    ->ArgNames({"rows", "threads"})
    ->Args({64, 1})
    ->Args({64, 2})
    ->UseRealTime();

}  // namespace
}  // namespace lockstep

BENCHMARK_MAIN();

// Time of the elementwise kernels on one thread: bazel run //model/kernels:kernels_benchmark
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "benchmark/benchmark.h"
#include "model/kernels/activation.h"
#include "model/kernels/column_sums.h"
#include "model/kernels/dropout.h"

namespace lockstep {
namespace {

constexpr int64_t kColumns = 512;

// Arguments of a benchmark: function and rows of 512 elements.
struct Setting {
  explicit Setting(const benchmark::State& state)
      : activation{static_cast<ActivationFunction>(state.range(0)), 0.3f},
        size{state.range(1), kColumns},
        x(static_cast<size_t>(size.rows * kColumns)),
        y(x.size()) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000) / 250.0f - 2.0f;
  }

  Activation activation;
  MatrixSize size;
  AlignedBuffer<float> x, y;
};

void CountElements(benchmark::State& state, MatrixSize size) {
  state.SetItemsProcessed(state.iterations() * size.rows * size.columns);
}

void BM_Forward(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state)
    ActivationForward(setting.activation, setting.size, setting.x.data(), setting.y.data());
  CountElements(state, setting.size);
}

void BM_Backward(benchmark::State& state) {
  const Setting setting(state);
  const float* const x = setting.x.data();
  for (auto _ : state) ActivationBackward(setting.activation, setting.size, x, x, x, setting.y.data());
  CountElements(state, setting.size);
}

void BM_ColumnSums(benchmark::State& state) {
  const Setting setting(state);
  for (auto _ : state) ColumnSums(setting.size, setting.x.data(), setting.y.data());
  CountElements(state, setting.size);
}

void BM_Dropout(benchmark::State& state) {
  const Setting setting(state);
  DropoutMask mask;
  mask.rate = 0.5f;
  for (auto _ : state) ApplyDropout(mask, setting.size, setting.x.data(), setting.y.data());
  CountElements(state, setting.size);
}

BENCHMARK(BM_Forward)->ArgNames({"function", "rows"})->ArgsProduct({{1, 2, 3, 4, 5, 6, 7}, {64}});
BENCHMARK(BM_Backward)->ArgNames({"function", "rows"})->ArgsProduct({{1, 2, 3, 4, 5, 6, 7}, {64}});
BENCHMARK(BM_ColumnSums)->ArgNames({"function", "rows"})->Args({0, 64});
BENCHMARK(BM_Dropout)->ArgNames({"function", "rows"})->Args({0, 64});

}  // namespace
}  // namespace lockstep

BENCHMARK_MAIN();

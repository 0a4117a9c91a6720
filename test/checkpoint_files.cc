#include "test/checkpoint_files.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/logging.h"
#include "test/files.h"
#include "worker/checkpoint_format.h"
#include "worker/checkpoint_store.h"
#include "worker/loaded_checkpoint.h"

namespace lockstep {
namespace {

LoadedCheckpoint LoadNewestOrDie(const std::string& directory) {
  std::vector<std::string> skipped;
  absl::StatusOr<LoadedCheckpoint> loaded =
      CheckpointStore::LoadNewestOf(FileSystem::Posix(), directory, &skipped);
  CHECK(loaded.ok()) << loaded.status();
  CHECK(skipped.empty()) << absl::StrJoin(skipped, "; ");
  return *std::move(loaded);
}

double Norm(const std::vector<float>& values, const std::vector<float>* minus) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]) - (minus == nullptr ? 0 : (*minus)[i]);
    sum += value * value;
  }
  return std::sqrt(sum);
}

}  // namespace

std::string NewestCheckpoint(const std::string& directory) { return LoadNewestOrDie(directory).path(); }

v1::CheckpointManifest ReadManifest(const std::string& directory) {
  return LoadNewestOrDie(directory).manifest();
}

Tensors ReadModel(const std::string& directory) {
  const LoadedCheckpoint checkpoint = LoadNewestOrDie(directory);
  Tensors tensors;
  std::vector<TensorDestination> destinations;
  for (const SafetensorsEntry& entry : checkpoint.model().entries()) {
    std::vector<float>& values = tensors[entry.name];
    values.resize((entry.end - entry.begin) / sizeof(float));
    destinations.push_back({entry.name, entry.shape, absl::MakeSpan(values)});
  }
  const absl::Status read = checkpoint.ReadModel(destinations);
  CHECK(read.ok()) << read;
  return tensors;
}

std::string TensorBytes(const std::string& directory) {
  const std::string newest = NewestCheckpoint(directory);
  return absl::StrCat(ReadFileOrDie(absl::StrCat(newest, "/", kModelFile)),
                      ReadFileOrDie(absl::StrCat(newest, "/", kOptimizerFile)));
}

void ExpectClose(const Tensors& expected, const Tensors& actual, double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  for (const auto& [name, values] : expected) {
    const auto other = actual.find(name);
    ASSERT_TRUE(other != actual.end()) << name;
    ASSERT_EQ(values.size(), other->second.size()) << name;
    EXPECT_LE(Norm(values, &other->second), tolerance * Norm(values, nullptr)) << name;
  }
}

}  // namespace lockstep

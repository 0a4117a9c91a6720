// Files and bytes for tests of readers.
#ifndef LOCKSTEP_DATA_TEST_SUPPORT_H_
#define LOCKSTEP_DATA_TEST_SUPPORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "data/bytes.h"
#include "data/dataset.h"

namespace lockstep {

std::shared_ptr<const Bytes> ToBytes(absl::string_view text);

// The content of a file of test/fixtures.
std::string FixtureText(const std::string& name);
std::string ReadText(const std::string& path);

// An empty directory of the running test, which serves as data root.
class TestDirectory {
 public:
  TestDirectory();
  const std::string& path() const { return path_; }
  void Write(const std::string& name, absl::string_view content) const;
  void AddFixture(const std::string& name) const { Write(name, FixtureText(name)); }

 private:
  std::string path_;
};

// An NPY file: `dictionary` is the header's text, `data` what follows it.
std::string MakeNpy(int version, absl::string_view dictionary, absl::string_view data);

// The bytes of values as they lie in memory.
template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// All rows of a dataset, in order. The test fails if they cannot be read.
struct AllRows {
  std::vector<float> features;
  std::vector<int32_t> classes;
  std::vector<float> values;
};
AllRows ReadAll(const Dataset& dataset);

// Reads one row and returns only the status.
absl::Status ReadRow(const Dataset& dataset, int64_t row);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_TEST_SUPPORT_H_
